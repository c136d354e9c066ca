// Tokens in reading order as one list to choose in, each shaded by a weight. What the model wrote stands behind a rule.
// Of a long text the chips that come into view are made, a stretch at a time; the others are kept as room.

import { css, h, put } from '../dom.js'
import { moveInLines } from '../pure/keyboard.js'
import { breaksAfter, isItsPlace, spoken } from '../pure/marks.js'
import { count, weight7 } from '../pure/number.js'
import { stretchAt, stretchesOf } from '../pure/stretches.js'
import { pieces } from './chip.js'

/** @typedef {import("../types.js").Axis} Axis @typedef {import("../types.js").ColourMap} ColourMap */
/**
 * values holds a weight for every token, −1 where not visible, and is null where this strip is not shaded.
 * @typedef {{axis: Axis, chosen: number, values: Float32Array|null, place: (weight: number, token: number) => number, map: ColourMap,
 *   padded: (at: number) => boolean}} Data
 */
/** Tokens that are made together. @typedef {import("../pure/stretches.js").Stretch & {el: HTMLElement}} Made */

const GAP = 3 // px round the chips, for their rings
const MANY = 42 // from here on chips are smaller
const AHEAD = '400px' // chips are made so far before they come into view

/** @param {string} name @param {(token: number, how: "pointer"|"key") => void} choose */
export const mountStrip = (name, choose) => new Strip(name, choose)

class Strip {
  /** @type {Data|null} */ #data = null
  /** @type {HTMLElement[]} those that are made, at their places */ #chips = []
  /** @type {Made[]} */ #stretches = []
  #chosen = -1
  #to = 0 // px: where the strip was last scrolled to for the chosen chip

  /** @param {string} name @param {(token: number, how: "pointer"|"key") => void} choose */
  constructor(name, choose) {
    this.choose = choose
    this.flow = h('div', { class: 'flow', role: 'listbox', 'aria-label': name })
    this.tip = h('div', { class: 'tip chip-tip', hidden: true, role: 'tooltip' })
    this.el = h('div', { class: 'strip' }, this.flow, this.tip)
    this.near = new IntersectionObserver((entries) => this.#fillSeen(entries), { root: this.flow, rootMargin: `${AHEAD} 0px` })
    this.size = new ResizeObserver(() => this.#again())
    this.size.observe(this.flow)
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
      this.near.disconnect()
      this.#chips = []
      this.#stretches = []
      return put(this.flow)
    }
    if (data.axis !== before?.axis) this.#build(data)
    this.#choose(data.chosen)
    for (const stretch of this.#stretches) if (made(stretch)) this.#shade(data, stretch)
  }

  /** @param {Data} data */
  #build({ axis: { tokens } }) {
    this.near.disconnect()
    this.#chosen = -1
    this.#chips = []
    this.flow.classList.toggle('many', tokens.length > MANY)
    this.#stretches = stretchesOf(tokens).map(({ first, end }) => ({ first, end, el: h('div', { class: 'stretch', role: 'presentation', style: { '--tokens': String(end - first) } }) }))
    put(this.flow, ...this.#stretches.map(({ el }) => el))
    if (this.#stretches.length === 1) this.#fill(this.#stretches[0])
    else this.#stretches.forEach(({ el }) => this.near.observe(el))
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #fillSeen(entries) {
    for (const { isIntersecting, target } of entries) {
      const stretch = isIntersecting && this.#stretches.find(({ el }) => el === target)
      if (stretch && this.#data) this.#shade(this.#data, this.#fill(stretch))
    }
  }

  /** Makes the chips of a stretch, and lets the room of the others follow its height. @param {Made} stretch */
  #fill(stretch) {
    if (made(stretch) || !this.#data) return stretch
    const { first, end, el } = stretch
    const { axis: { tokens, generated, turns }, padded } = this.#data
    const roles = new Map(turns.map(({ role, first: at }) => [at, role]))
    const some = this.#stretches.length > 1
    const rule = () => h('span', { class: 'wrote', 'aria-hidden': 'true' }, 'written by the model')
    put(el, ...tokens.slice(first, end).flatMap((token, k) => {
      const at = first + k
      const said = [spoken(token), String(at), padded(at) && 'padding', generated !== null && at >= generated && 'written by the model'].filter(Boolean).join(', ')
      const chip = h('span', { class: padded(at) ? 'tok padding' : 'tok', role: 'option', 'aria-selected': 'false', 'aria-label': said, tabindex: '-1', 'data-i': at, 'aria-posinset': some && at + 1, 'aria-setsize': some && tokens.length }, ...pieces(token))
      this.#chips[at] = chip
      return [...turn(roles.get(at), at), at === generated && rule(), chip, breaksAfter(token) && h('i', { class: 'brk', 'aria-hidden': 'true' })]
    }))
    this.near.unobserve(el)
    if (some) css(this.flow, { '--high': el.offsetHeight / (end - first) })
    return stretch
  }

  /** The chip of a token, made where it was not. @param {number} at @returns {HTMLElement|undefined} */
  #chip(at) {
    const stretch = this.#stretches[stretchAt(this.#stretches, at)]
    if (this.#data && stretch && !made(stretch) && stretch.first <= at && at < stretch.end) this.#shade(this.#data, this.#fill(stretch))
    return this.#chips[at]
  }

  /** @param {number} at */
  #choose(at) {
    const chip = this.#chip(at)
    if (!chip || at === this.#chosen) return
    const before = this.#chips[this.#chosen]
    const focused = before !== undefined && before === document.activeElement
    if (before) Object.assign(before, { tabIndex: -1, ariaSelected: 'false' })
    Object.assign(chip, { tabIndex: 0, ariaSelected: 'true' })
    this.#chosen = at
    this.#reveal(at, chip)
    if (focused) chip.focus({ preventScroll: true })
  }

  /** How far a chip stands from the top of the whole text, its ring included. @param {HTMLElement} chip */
  #top(chip) {
    return chip.getBoundingClientRect().top - this.flow.getBoundingClientRect().top + this.flow.scrollTop - GAP
  }

  /** The strip is higher or lower than it was: what was brought into view is brought there again, unless one has scrolled since. */
  #again() {
    const chip = this.#chips[this.#chosen]
    if (chip && Math.abs(this.flow.scrollTop - this.#to) < chip.offsetHeight) this.#reveal(this.#chosen, chip, this.#to > 0)
  }

  /** Scrolls inside the strip alone, to whole lines. @param {number} at @param {HTMLElement} chip @param {boolean} [anew] even where it is in view */
  #reveal(at, chip, anew = false) {
    const { flow } = this
    const [from, high] = [this.#top(chip), chip.offsetHeight + 2 * GAP]
    if (!anew && from >= flow.scrollTop && from + high <= flow.scrollTop + flow.clientHeight) return
    const to = from < flow.scrollTop ? from : this.#top(this.#firstAbove(at, chip, flow.clientHeight - high))
    const short = to + flow.clientHeight - flow.scrollHeight // px that the end lacks for a whole line at the top
    if (short > 0) flow.append(h('i', { class: 'brk', style: { height: `${short}px` }, 'aria-hidden': 'true' }))
    flow.scrollTop = this.#to = to
  }

  /** The first chip of the lines that have room above that of a chosen one. @param {number} at @param {HTMLElement} chip @param {number} room px */
  #firstAbove(at, chip, room) {
    let first = chip
    for (let before = this.#chip(at - 1); before && this.#top(chip) - this.#top(before) <= room; before = this.#chip(--at - 1)) first = before
    return first
  }

  /** @param {Data} data @param {Made} stretch */
  #shade({ values, place, map }, { first, end }) {
    for (let at = first; at < end; at++) {
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

  /** @param {number} at @param {HTMLElement} chip */
  #showTip(at, chip) {
    const value = this.#data?.values?.[at]
    if (value === undefined || !this.#data) return
    const token = this.#data.axis.tokens[at]
    put(this.tip, h('b', {}, value >= 0 ? weight7(value) : '0'), h('div', { class: 'dim' }, `${value >= 0 ? '' : 'not visible · '}${isItsPlace(token, at) ? '' : `${spoken(token)}, `}position ${count(at)}`))
    this.tip.hidden = false
    const [own, strip] = [chip.getBoundingClientRect(), this.el.getBoundingClientRect()]
    const top = own.top - strip.top - this.tip.offsetHeight - 6
    const most = this.flow.offsetLeft + this.flow.offsetWidth - this.tip.offsetWidth
    css(this.tip, { left: Math.min(own.left - strip.left, most), top: top < 40 ? own.bottom - strip.top + 6 : top })
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (!this.#data) return
    const middle = (/** @type {number} */ at) => {
      const chip = /** @type {HTMLElement} */ (this.#chip(at))
      const { left, right } = chip.getBoundingClientRect()
      return { x: (left + right) / 2, y: Math.round(this.#top(chip)) }
    }
    const to = moveInLines(event, Math.max(0, this.#data.chosen), this.#data.axis.tokens.length, middle)
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

/** @param {Made} stretch */
const made = ({ el }) => el.firstChild !== null

/** Who speaks from here on, on a line of its own. @param {string|undefined} role @param {number} at */
function turn(role, at) {
  if (!role) return []
  return [at > 0 && h('i', { class: 'brk', 'aria-hidden': 'true' }), h('span', { class: 'turn' }, role)]
}
