// Tokens in reading order as one list to choose in, each shaded by a weight. What the model wrote stands behind a rule.

import { css, h, put } from '../dom.js'
import { moveInLines } from '../pure/keyboard.js'
import { breaksAfter, isItsPlace, spoken } from '../pure/marks.js'
import { count, weight7 } from '../pure/number.js'
import { pieces } from './chip.js'

/** @typedef {import("../types.js").Axis} Axis @typedef {import("../types.js").ColourMap} ColourMap */
/**
 * values holds a weight for every token, −1 where not visible, and is null where this strip is not shaded.
 * @typedef {{axis: Axis, chosen: number, values: Float32Array|null, place: (weight: number, token: number) => number, map: ColourMap,
 *   padded: (at: number) => boolean}} Data
 */

const GAP = 3 // px round the chips, for their rings
const MANY = 42 // from here on chips are smaller

/** @param {string} name @param {(token: number, how: "pointer"|"key") => void} choose */
export const mountStrip = (name, choose) => new Strip(name, choose)

class Strip {
  /** @type {Data|null} */ #data = null
  /** @type {HTMLElement[]} */ #chips = []
  #chosen = -1
  #room = 0 // px of height, as it was when the chosen chip was last brought into view

  /** @param {string} name @param {(token: number, how: "pointer"|"key") => void} choose */
  constructor(name, choose) {
    this.choose = choose
    this.flow = h('div', { class: 'flow', role: 'listbox', 'aria-label': name })
    this.tip = h('div', { class: 'tip chip-tip', hidden: true, role: 'tooltip' })
    this.el = h('div', { class: 'strip' }, this.flow, this.tip)
    this.flow.addEventListener('click', (event) => this.#with(event, (at) => choose(at, 'pointer')))
    this.flow.addEventListener('pointerover', (event) => this.#with(event, (at, chip) => this.#showTip(at, chip)))
    this.flow.addEventListener('pointerleave', () => (this.tip.hidden = true))
    this.flow.addEventListener('keydown', (event) => this.#press(event))
  }

  /** What is built now. */
  axis = () => this.#data?.axis ?? null

  /** @param {Data|null} data null empties it */
  update(data) {
    const before = this.#data
    this.#data = data
    this.tip.hidden = true
    if (!data) {
      this.#chips = []
      return put(this.flow)
    }
    if (data.axis !== before?.axis) this.#build(data)
    this.#choose(data.chosen)
    this.#shade(data)
  }

  /** @param {Data} data */
  #build({ axis, padded }) {
    const { tokens, generated, turns } = axis
    const roles = new Map(turns.map(({ role, first }) => [first, role]))
    this.#chosen = -1
    this.flow.classList.toggle('many', tokens.length > MANY)
    this.#chips = tokens.map((token, at) => {
      const said = [spoken(token), String(at), padded(at) && 'padding', generated !== null && at >= generated && 'written by the model'].filter(Boolean).join(', ')
      return h('span', { class: padded(at) ? 'tok padding' : 'tok', role: 'option', 'aria-selected': 'false', 'aria-label': said, tabindex: '-1', 'data-i': at }, ...pieces(token))
    })
    const rule = () => h('span', { class: 'wrote', 'aria-hidden': 'true' }, 'written by the model')
    const children = tokens.flatMap((token, at) => [...turn(roles.get(at), at), at === generated && rule(), this.#chips[at], breaksAfter(token) && h('i', { class: 'brk', 'aria-hidden': 'true' })])
    put(this.flow, ...children)
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

  /** Scrolls inside the strip alone, to whole lines. @param {HTMLElement} chip */
  #reveal(chip) {
    const { flow } = this
    const top = (/** @type {HTMLElement} */ el) => el.getBoundingClientRect().top - flow.getBoundingClientRect().top + flow.scrollTop - GAP
    const [from, end] = [top(chip), top(chip) + chip.offsetHeight + 2 * GAP]
    if (from >= flow.scrollTop && end <= flow.scrollTop + flow.clientHeight) return
    const first = this.#chips.find((other) => top(other) >= end - flow.clientHeight)
    const to = from < flow.scrollTop ? from : first ? top(first) : from
    const short = to + flow.clientHeight - flow.scrollHeight // px that the end lacks for a whole line at the top
    if (short > 0) flow.append(h('i', { class: 'brk', style: { height: `${short}px` }, 'aria-hidden': 'true' }))
    flow.scrollTop = to
  }

  /** @param {Data} data */
  #shade({ values, place, map }) {
    this.#chips.forEach((chip, at) => {
      const value = values ? values[at] : NaN
      const seen = value >= 0
      chip.classList.toggle('shaded', seen)
      chip.classList.toggle('hatch', value < 0)
      const t = seen ? place(value, at) : 0
      chip.style.backgroundColor = seen ? map.css(t) : ''
      chip.style.color = seen ? `var(--cell-${map.ink(t)})` : ''
    })
  }

  /** @param {number} at @param {HTMLElement} chip */
  #showTip(at, chip) {
    const value = this.#data?.values?.[at]
    if (value === undefined || !this.#data) return
    const token = this.#data.axis.tokens[at]
    put(this.tip, h('b', {}, value >= 0 ? weight7(value) : '0'), h('div', { class: 'dim' }, `${value >= 0 ? '' : 'not visible · '}${isItsPlace(token, at) ? '' : `${spoken(token)}, `}position ${count(at)}`))
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
    const to = moveInLines(event, Math.max(0, this.#data.chosen), this.#chips.length, middle)
    if (to === null) return
    event.preventDefault()
    this.choose(to, 'key')
  }

  /** @param {Event} event @param {(at: number, chip: HTMLElement) => void} act */
  #with(event, act) {
    const chip = event.target instanceof Element ? event.target.closest('.tok') : null
    if (chip instanceof HTMLElement) act(Number(chip.dataset.i), chip)
  }
}

/** Who speaks from here on, on a line of its own. @param {string|undefined} role @param {number} at */
function turn(role, at) {
  if (!role) return []
  return [at > 0 && h('i', { class: 'brk', 'aria-hidden': 'true' }), h('span', { class: 'turn' }, role)]
}
