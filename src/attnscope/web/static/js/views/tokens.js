// The tokens in reading order, each shaded by how much the chosen one looks at it, or is looked at by it.

import { css, h, put, say } from '../dom.js'
import { moveInLines } from '../pure/keyboard.js'
import { breaksAfter, label, spoken } from '../pure/marks.js'
import { count, weight, weight7 } from '../pure/number.js'
import { largest } from '../pure/scale.js'
import { pieces } from './chip.js'
import { mountSeg } from './seg.js'

/** @typedef {import("../types.js").Token} Token @typedef {import("../types.js").ColourMap} ColourMap @typedef {import("../types.js").Way} Way */
/**
 * values holds a weight for every token, −1 where not visible, and is null where there is no picture.
 * @typedef {{tokens: Token[], way: Way, chosen: number, values: Float32Array|null, place: (weight: number, token: number) => number,
 *   scaleName: string, map: ColourMap, sink: number|null}} Data
 */
/** @typedef {{choose: (token: number, how: "pointer"|"key") => void, turn: (way: Way) => void, table: () => void}} On */

const BEST = 4
const SEEN = /** @type {const} */ (['tokens', 'way', 'chosen', 'values', 'scaleName', 'map', 'sink']) // what the view depends on
const GAP = 3 // px round the chips, for their rings
const MANY = 42 // from here on chips are smaller

/** @param {HTMLElement} el @param {On} on */
export const mount = (el, on) => new Tokens(el, on)

class Tokens {
  /** @type {Data|null} */ #data = null
  /** @type {Token[]} */ #built = []
  /** @type {HTMLElement[]} */ #chips = []
  #chosen = -1
  #room = 0 // px of height, as it was when the chosen chip was last brought into view

  /** @param {HTMLElement} el @param {On} on */
  constructor(el, on) {
    this.on = on
    this.where = h('span', { class: 'faint small' })
    this.ways = mountSeg('Which way', /** @type {{value: Way, text: string}[]} */ ([{ value: 'at', text: 'looks at' }, { value: 'by', text: 'looked at by' }]), on.turn)
    this.flow = h('div', { class: 'flow', role: 'listbox', 'aria-label': 'Tokens' })
    this.sentence = h('p', { class: 'small best' })
    this.table = h('button', { class: 'btn quiet tiny', type: 'button', onclick: on.table, title: 'All weights of this row (t)' }, 'as a table')
    this.tip = h('div', { class: 'tip chip-tip', hidden: true, role: 'tooltip' })
    put(el,
      h('div', { class: 'sec' }, h('h2', {}, 'Tokens'), this.where, h('div', { class: 'end' }, this.ways.el)),
      this.flow, h('div', { class: 'best-line' }, this.sentence, this.table), this.tip)
    this.flow.addEventListener('click', (event) => this.#with(event, (at) => on.choose(at, 'pointer')))
    this.flow.addEventListener('pointerover', (event) => this.#with(event, (at, chip) => this.#showTip(at, chip)))
    this.flow.addEventListener('pointerleave', () => (this.tip.hidden = true))
    this.flow.addEventListener('keydown', (event) => this.#press(event))
  }

  /** What is built now. */
  tokens = () => this.#built

  destroy() {
    this.tip.remove()
  }

  /** @param {Data} data */
  update(data) {
    const before = this.#data
    this.#data = data
    if (before && SEEN.every((name) => before[name] === data[name])) return
    if (data.tokens !== this.#built) this.#build(data.tokens)
    this.ways.update(data.way)
    const token = data.tokens[data.chosen]
    say(this.where, token ? `${spoken(token)}, position ${count(data.chosen)}` : '')
    put(this.sentence, ...this.#words(data))
    this.table.hidden = !data.values
    this.#choose(data.chosen)
    this.#shade(data)
    this.tip.hidden = true
  }

  /** @param {Token[]} tokens */
  #build(tokens) {
    this.#built = tokens
    this.#chosen = -1
    this.flow.classList.toggle('many', tokens.length > MANY)
    this.#chips = tokens.map((token) =>
      h('span', { class: 'tok', role: 'option', 'aria-selected': 'false', 'aria-label': `${spoken(token)}, ${token.i}`, tabindex: '-1', 'data-i': token.i }, ...pieces(token)))
    const children = tokens.flatMap((token, at) => (breaksAfter(token) ? [this.#chips[at], h('i', { class: 'brk', 'aria-hidden': 'true' })] : [this.#chips[at]]))
    this.flow.replaceChildren(...children)
  }

  /** @param {number} at */
  #choose(at) {
    const chip = this.#chips[at]
    const room = this.flow.clientHeight
    if (!chip || (at === this.#chosen && room === this.#room)) return
    this.#room = room
    const before = this.#chips[this.#chosen]
    const focused = before !== undefined && before === document.activeElement
    if (before) Object.assign(before, { tabIndex: -1, ariaSelected: 'false' })
    Object.assign(chip, { tabIndex: 0, ariaSelected: 'true' })
    this.#chosen = at
    this.#reveal(chip)
    if (focused) chip.focus({ preventScroll: true })
  }

  /** Scrolls inside the panel alone, to whole lines. @param {HTMLElement} chip */
  #reveal(chip) {
    const { flow } = this
    const top = (/** @type {HTMLElement} */ el) => el.offsetTop - flow.offsetTop - GAP
    const [from, to] = [top(chip), top(chip) + chip.offsetHeight + 2 * GAP]
    if (from >= flow.scrollTop && to <= flow.scrollTop + flow.clientHeight) return
    const first = this.#chips.find((other) => top(other) >= to - flow.clientHeight)
    flow.scrollTop = from < flow.scrollTop ? from : first ? top(first) : from
  }

  /** @param {Data} data */
  #shade({ values, place, map, tokens }) {
    for (let at = 0; at < tokens.length; at++) {
      const chip = this.#chips[at]
      const value = values ? values[at] : NaN
      const seen = value >= 0
      chip.classList.toggle('shaded', seen)
      chip.classList.toggle('hatch', value < 0)
      const t = seen ? place(value, at) : 0
      chip.style.backgroundColor = seen ? map.css(t) : ''
      chip.style.color = seen ? `var(--cell-${map.ink(t)})` : ''
    }
  }

  /** "Looks at t 15 .306, t 21 .239, all others .142". @param {Data} data */
  #words({ values, way, tokens, chosen, sink }) {
    if (!values || !tokens[chosen]) return []
    const best = largest(values, BEST)
    const who = label(tokens[chosen])
    if (!best.length) return [way === 'at' ? 'Sees no key: all its weights are 0.' : 'No query sees it.']
    const items = best.map((at) => h('span', { class: 'item' }, h('code', { dir: 'auto' }, label(tokens[at])), h('span', { class: 'faint' }, ` ${count(at)} `), h('b', {}, weight(values[at]))))
    const rest = values.reduce((sum, value, at) => (value > 0 && !best.includes(at) ? sum + value : sum), 0)
    if (way === 'at' && rest > 0) items.push(h('span', { class: 'item' }, 'all others ', h('b', {}, weight(rest))))
    if (way === 'at' && sink) items.push(h('span', { class: 'item' }, 'a learned sink ', h('b', {}, weight(sink))))
    return [way === 'at' ? 'Looks at ' : h('span', {}, h('code', { dir: 'auto' }, who), ' is looked at most by '), ...items]
  }

  /** @param {number} at @param {HTMLElement} chip */
  #showTip(at, chip) {
    const value = this.#data?.values?.[at]
    if (value === undefined || !this.#data) return
    put(this.tip, h('b', {}, value >= 0 ? weight7(value) : '0'), h('div', { class: 'dim' }, `${value >= 0 ? '' : 'not visible · '}${spoken(this.#data.tokens[at])}, position ${count(at)}`))
    this.tip.hidden = false
    const top = chip.offsetTop - this.flow.scrollTop - this.tip.offsetHeight - 6
    const under = chip.offsetTop - this.flow.scrollTop + chip.offsetHeight + 6
    const most = this.flow.offsetLeft + this.flow.offsetWidth - this.tip.offsetWidth
    css(this.tip, { left: Math.min(chip.offsetLeft, most), top: top < 40 ? under : top })
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (!this.#data) return
    const middle = (/** @type {number} */ at) => ({ x: this.#chips[at].offsetLeft + this.#chips[at].offsetWidth / 2, y: this.#chips[at].offsetTop })
    const to = moveInLines(event, this.#data.chosen, this.#data.tokens.length, middle)
    if (to === null) return
    event.preventDefault()
    this.on.choose(to, 'key')
  }

  /** @param {Event} event @param {(at: number, chip: HTMLElement) => void} act */
  #with(event, act) {
    const chip = event.target instanceof Element ? event.target.closest('.tok') : null
    if (chip instanceof HTMLElement) act(Number(chip.dataset.i), chip)
  }
}
