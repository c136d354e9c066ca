// One head of each and their difference, over the same slots: three pictures, the numbers under one place of them.

import { attr, css, h, put } from '../../dom.js'
import { signedMap } from '../../kit/signed.js'
import { differenceTicks, pixelsOf, placeOf, roleColour, rolesOf, signed } from '../../pure/compare.js'
import { moveInGrid } from '../../pure/keyboard.js'
import { count, weight, weight7 } from '../../pure/number.js'
import { parseHex, packed } from '../../pure/colour.js'
import { makeScale, ticks } from '../../pure/scale.js'
import { mountLegend } from '../../kit/legend.js'
import { card } from '../card.js'
import { mountSeg } from '../seg.js'

/** @typedef {import("../../types.js").Ranked} Ranked @typedef {import("../../types.js").HeadDifference} HeadDifference @typedef {import("../../types.js").Slots} Slots @typedef {import("../../types.js").Slot} Slot */
/** @typedef {import("../../pure/compare.js").CompareState} State */
/** @typedef {{found: Ranked, head: HeadDifference, slots: Slots, planes: import("../../types.js").Block, state: State, look: import("../../look.js").Look}} Data */

const HIDDEN = -1 // a weight that is not visible
const GONE = { light: '#e2e2de', dark: '#2a2d31' } // a place without a fellow, as compare.css has it
const NAMES = ['A', 'B', 'B − A']

/** @param {HTMLElement} el @param {{scale: (scale: "log"|"linear") => void, choose: (i: number, j: number) => void}} on */
export const mountThree = (el, on) => new Three(el, on)

class Three {
  /** @type {Data|null} */ #data = null
  /** @type {unknown[]} */ #painted = []
  #at = { i: 0, j: 0 }
  #said = '' // a card is drawn anew only where it says something else, so that its button keeps the focus

  /** @param {HTMLElement} el @param {{scale: (scale: "log"|"linear") => void, choose: (i: number, j: number) => void}} on */
  constructor(el, on) {
    this.on = on
    this.heading = h('h2', {})
    this.about = h('span', { class: 'small dim' })
    this.scale = mountSeg('Colour', /** @type {{value: "log"|"linear", text: string}[]} */ ([{ value: 'log', text: 'log' }, { value: 'linear', text: 'linear' }]), on.scale)
    this.figures = NAMES.map((name, n) => {
      const [canvas, ring, caption, legend] = [h('canvas', { class: 'pixels', 'aria-hidden': 'true' }), h('div', { class: 'ring' }), h('figcaption', {}), h('div', {})]
      const bands = ['rows', 'columns'].map((side) => h('canvas', { class: `band ${side}`, 'aria-hidden': 'true' }))
      const plane = h('div', n === 2 ? { class: 'plane hatch', tabindex: '0', role: 'group', 'aria-label': 'Difference of the two heads; arrows move' } : { class: 'plane hatch' }, canvas, ...bands, ring)
      plane.addEventListener('click', (event) => this.#click(event, plane))
      plane.addEventListener('keydown', (event) => this.#press(event))
      return { name, canvas, bands, ring, caption, legend, plane, el: h('figure', {}, caption, plane, legend) }
    })
    this.here = h('div', { class: 'here' })
    this.said = h('p', { class: 'small faint said' })
    this.body = h('div', {}, h('div', { class: 'pictures' }, ...this.figures.map((figure) => figure.el)), this.here, this.said)
    this.card = h('div', {})
    put(el, h('div', { class: 'sec' }, this.heading, this.about, h('div', { class: 'end' }, this.scale.el)), this.body, this.card)
    this.clear('', '')
  }

  /** @param {string} title @param {string} text @param {{bad?: boolean, bar?: {done: number, total: number}, button?: import("../card.js").Button|null}} more */
  clear(title, text, more = {}) {
    this.#data = null
    this.#painted = []
    this.body.hidden = this.scale.el.hidden = true
    this.card.hidden = !title
    const now = JSON.stringify([title, text, more])
    if (now === this.#said) return
    this.#said = now
    put(this.heading, 'Head')
    put(this.about)
    put(this.card, card({ title, text, ...more }))
  }

  /** @param {Data} data */
  update(data) {
    this.#data = data
    this.#said = ''
    const { head, slots, planes, state, look } = data
    const [rows, columns] = planes.shape.slice(1)
    this.body.hidden = this.scale.el.hidden = false
    this.card.hidden = true
    this.scale.update(state.scale)
    put(this.heading, `Layer ${head.layer} · Head ${head.head}`)
    put(this.about, `mean ${head.mean === null ? '–' : weight(head.mean)}, largest ${head.largest === null ? '–' : weight(head.largest)}`)
    const now = [planes, state.scale, look]
    if (now.some((part, at) => part !== this.#painted[at])) this.#paint(data, rows, columns)
    this.#painted = now
    const i = Math.min(state.i ?? startOf(head, slots), rows - 1)
    const row = planes.values.subarray((2 * rows + i) * columns, (2 * rows + i + 1) * columns)
    this.#at = { i, j: Math.min(state.j ?? furthest(row), columns - 1) }
    this.#choose(rows, columns)
    const pixel = slots.cells > 1 ? `a pixel is ${slots.cells} × ${slots.cells} places: the largest weight, and the difference furthest from 0` : 'a pixel is one cell'
    put(this.said, h('span', {}, h('i', { class: 'hatch' }), 'not visible: exactly 0'), h('span', {}, h('i', { class: 'gone' }), 'without a fellow'), h('span', {}, pixel), ...this.#roles(slots))
  }

  /** Who speaks along both sides, as a band beside the pictures; and what its colours say. @param {Slots} slots */
  #roles(slots) {
    const sides = [rolesOf(slots.rows, slots.cells), rolesOf(slots.columns, slots.cells)]
    for (const { bands } of this.figures) bands.forEach((canvas, side) => band(canvas, sides[side], side === 0))
    const named = [...new Set(sides.flat())].filter((role) => role !== null)
    return named.map((role) => h('span', {}, h('i', { class: 'role', style: { background: roleColour(role) } }), role))
  }

  /** @param {Data} data @param {number} rows @param {number} columns */
  #paint({ found, planes, state, look }, rows, columns) {
    const own = makeScale(state.scale, { largest: () => 1, sorted: () => new Float32Array() })
    const gone = packed(parseHex(GONE[look.dark ? 'dark' : 'light']))
    const labels = [`A: ${state.a} · ${found.a}`, `B: ${state.b} · ${found.b}`, 'B − A: blue where B has less, orange where B has more']
    this.figures.forEach(({ canvas, caption, legend }, n) => {
      const values = planes.values.subarray(n * rows * columns, (n + 1) * rows * columns)
      const map = n === 2 ? signedMap() : look.map
      const place = n === 2 ? (/** @type {number} */ x) => placeOf(x, state.scale) : (/** @type {number} */ x) => own(x, 0)
      const pixels = pixelsOf(values, { place, map: map.pixels, gone, hidden: n === 2 ? Infinity : HIDDEN })
      Object.assign(canvas, { width: columns, height: rows })
      canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows), 0, 0)
      put(caption, labels[n])
      const ramp = mountLegend({ ticks: n === 2 ? differenceTicks(state.scale) : ticks(state.scale), means: n === 2 ? 'the sign is that of B − A' : 'the weight' })
      ramp.update(map)
      put(legend, ramp.el)
    })
  }

  /** @param {number} rows @param {number} columns */
  #choose(rows, columns) {
    const { i, j } = this.#at
    for (const { ring, plane } of this.figures) css(ring, { left: `${(100 * j) / columns}%`, top: `${(100 * i) / rows}%`, width: `${100 / columns}%`, height: `${100 / rows}%` }), attr(plane, 'aria-description', this.sentence())
    const values = this.#values()
    const words = values.map((value, n) => (Number.isNaN(value) ? 'no fellow' : value === (n === 2 ? Infinity : HIDDEN) ? 'not visible' : n === 2 ? signed(value, weight) : weight(value)))
    put(this.here, ...words.map((text, n) => h('div', { title: Number.isFinite(values[n]) ? (n === 2 ? signed(values[n], weight7) : weight7(values[n])) : '' },
      h('div', { class: 'big' }, text), h('div', { class: 'small dim' }, n < 2 ? this.#place(n === 0 ? 'a' : 'b') : NAMES[2]))))
  }

  /** The chosen place as one sentence. */
  sentence() {
    if (!this.#data) return ''
    const [a, b, d] = this.#values()
    const word = (/** @type {number} */ value) => (Number.isNaN(value) ? 'not there' : value === HIDDEN ? 'not visible' : weight(value))
    return `${this.#place('a') || this.#place('b')}: A ${word(a)}, B ${word(b)}, difference ${Number.isFinite(d) ? signed(d, weight) : 'none'}`
  }

  #values() {
    const { planes } = /** @type {Data} */ (this.#data)
    const [count, rows, columns] = planes.shape
    return Array.from({ length: count }, (_, n) => planes.values[n * rows * columns + this.#at.i * columns + this.#at.j])
  }

  /** "query 4 cat → key 0 the" of one side. @param {"a"|"b"} side */
  #place(side) {
    const { slots } = /** @type {Data} */ (this.#data)
    const [row, column] = [slots.rows[this.#at.i * slots.cells], slots.columns[this.#at.j * slots.cells]]
    return row?.[side] && column?.[side] ? `query ${wordOf(row[side])} → key ${wordOf(column[side])}` : ''
  }

  /** @param {MouseEvent} event @param {HTMLElement} plane */
  #click(event, plane) {
    if (!this.#data) return
    const [, rows, columns] = this.#data.planes.shape
    const box = plane.getBoundingClientRect()
    const at = (/** @type {number} */ part, /** @type {number} */ size) => Math.max(0, Math.min(size - 1, Math.floor(part * size)))
    this.on.choose(at((event.clientY - box.top) / box.height, rows), at((event.clientX - box.left) / box.width, columns))
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (!this.#data) return
    const [, rows, columns] = this.#data.planes.shape
    const to = moveInGrid(event, { row: this.#at.i, column: this.#at.j, rows, columns })
    if (!to) return
    event.preventDefault()
    this.on.choose(to.row, to.column)
  }
}

/** Where the rows differ most. @param {HeadDifference} head @param {Slots} slots */
function startOf({ row_a: row }, { rows, cells }) {
  const slot = rows.findIndex(({ a }) => a !== null && a.at === row)
  return slot < 0 ? 0 : Math.floor(slot / cells)
}

/** The place of a row at which the two differ most. @param {Float32Array} row */
function furthest(row) {
  let best = 0
  for (let at = 0; at < row.length; at++) if (Number.isFinite(row[at]) && !(Math.abs(row[at]) <= Math.abs(row[best]))) best = at
  return best
}

/** One line of pixels in the colours of roles; nothing where nobody speaks. @param {HTMLCanvasElement} canvas @param {(string|null)[]} roles @param {boolean} down */
function band(canvas, roles, down) {
  canvas.hidden = !roles.some((role) => role !== null)
  if (canvas.hidden) return
  Object.assign(canvas, down ? { width: 1, height: roles.length } : { width: roles.length, height: 1 })
  const pixels = new Uint32Array(roles.map((role) => (role === null ? 0 : packed(parseHex(roleColour(role))))))
  canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), canvas.width, canvas.height), 0, 0)
}

/** @param {import("../../types.js").SlotSide|null} place */
const wordOf = (place) => (place ? `${count(place.at)} ${place.text}${place.role ? ` (${place.role})` : ''}` : '')
