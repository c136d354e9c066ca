// The weights of one head as a picture one can point at, choose in and walk through by keyboard.

import { attr, css, h, put, say } from '../dom.js'
import { cellSentence } from '../pure/announce.js'
import { moveInGrid } from '../pure/keyboard.js'
import { heatmapLayout } from '../pure/layout.js'
import { count } from '../pure/number.js'
import { paintCells } from '../pure/paint.js'
import { mountAxis, mountBars } from './axes.js'
import { mountOver, mountSink, SINK } from './marks.js'
import { mountTip } from './tip.js'

/** @typedef {import("../types.js").Span} Span @typedef {import("../types.js").Sides} Sides @typedef {import("../types.js").ColourMap} ColourMap */
/** @typedef {import("../pure/layout.js").Layout} Layout */
/** @typedef {{label: string, name: string, spoken: string, faint: boolean}} Word what stands for a token; name and spoken are "" where it is known by its position alone */
/** @typedef {{i: number, j: number}} Place */
/**
 * weights holds the cells of rows x columns alone, −1 where not visible; values: what is drawn in their place, weight times value, with its name; rank is null while the row of a query is not known.
 * @typedef {{title: string, rows: Span, columns: Span, totalRows: number, totalColumns: number, weights: Float32Array,
 *   values: {name: string, spoken: string, of: Float32Array}|null, scale: import("../types.js").Scale, scaleName: string, map: ColourMap, page: number, hide: boolean, i: number, j: number|null,
 *   edge: number, sink: boolean, down: import("./marks.js").Along, across: import("./marks.js").Along,
 *   query: (i: number) => Word, key: (j: number) => Word, sides: Sides, rank: (i: number, j: number) => {rank: number, of: number}|null}} Data
 */
/** @typedef {{rows: number, columns: number, labels: {left: number, top: number}, upright: boolean, sink: boolean}} Shape cells there are, px of the longest token of each side, whether tokens have several characters, whether a learned sink stands at the left */
/** @typedef {{choose: (i: number, j: number, how: "pointer"|"key") => void, leave: () => void, resize: () => void, row: (i: number) => void}} On row: a query's whole row is wanted */

const SIDE = 61 // px right of the plane: bars of entropy and a number
const FOOT = 40 // px under it: bars received and a number
const BAR = { right: 28, bottom: 20 } // px of the longest bar
const POSITION = { digit: 6.6, room: 12, least: 33 } // px of a gutter that holds positions

/** @param {HTMLElement} el @param {On} on @param {() => number} room px of height there are for all of it */
export const mount = (el, on, room) => new Heatmap(el, on, room)

class Heatmap {
  /** @type {Data|null} */ #data = null
  /** @type {Layout|null} */ #layout = null
  /** @type {Place|null} */ #hover = null
  #touch = false
  #keyed = false // the tooltip follows the choice while one walks by keyboard
  #upright = false
  #measured = '' // what the layout was made for
  /** @type {unknown[]} what the canvas shows */ #painted = []

  /** @param {HTMLElement} el @param {On} on @param {() => number} room */
  constructor(el, on, room) {
    this.el = el
    this.room = room
    this.on = on
    this.canvas = h('canvas', { 'aria-hidden': 'true' })
    this.hair = { x: hair('x'), y: hair('y'), hoverX: hair('hover x'), hoverY: hair('hover y') }
    this.ring = h('div', { class: 'at' })
    this.cell = h('span', { role: 'gridcell', id: 'hm-cell', 'aria-selected': 'true' })
    this.line = h('span', { role: 'row', class: 'sr' }, this.cell)
    this.over = mountOver()
    this.plane = h('div', { class: 'plane hatch', tabindex: '0', role: 'grid', 'aria-activedescendant': 'hm-cell', 'aria-readonly': 'true' },
      this.canvas, this.over.el, this.hair.hoverX, this.hair.hoverY, this.hair.y, this.hair.x, this.ring, this.line)
    const [columns, rows, entropy, received, sink] = ['cols', 'rows', 'ent', 'rec', 'snk'].map((name) => h('div', { class: name }))
    const tip = h('div', { class: 'tip', role: 'tooltip' })
    this.hm = h('div', { class: 'hm' }, columns, rows, sink, this.plane, entropy, received,
      h('span', { class: 'cap entropy' }, 'entropy'), h('span', { class: 'cap received' }, 'received'), tip)
    put(el, this.hm)
    this.axes = { top: mountAxis(columns, 'top'), left: mountAxis(rows, 'left') }
    this.bars = { right: mountBars(entropy, 'right'), bottom: mountBars(received, 'bottom') }
    this.sink = mountSink(sink)
    this.tip = mountTip(tip)
    this.#listen()
    this.watch = new ResizeObserver(() => {
      this.#measured = ''
      on.resize()
    })
    this.watch.observe(el)
  }

  destroy() {
    this.watch.disconnect()
  }

  focus() {
    this.plane.focus()
  }

  /** The chosen cell as one sentence. */
  sentence() {
    return this.cell.textContent ?? ''
  }

  /** How many cells fit, so that the right ones can be fetched. @param {Shape} shape */
  capacity(shape) {
    const wanted = [shape.rows, shape.columns, shape.labels.left, shape.labels.top, shape.upright, shape.sink, devicePixelRatio, innerWidth, innerHeight, this.room()].join(' ')
    if (this.#layout && this.#measured === wanted) return { rows: this.#layout.rows, columns: this.#layout.columns }
    this.#measured = wanted
    const narrow = matchMedia('(max-width: 700px)').matches
    const fixed = matchMedia('(min-width: 1321px) and (min-height: 640px)').matches
    const side = narrow ? 0 : SIDE
    const sink = shape.sink ? SINK.wide + SINK.gap : 0
    const room = { width: this.el.clientWidth - side - sink, height: fixed ? this.room() - FOOT : this.el.clientWidth - side }
    const long = (/** @type {number} */ px) => Math.min(76, px + 12)
    const words = shape.upright ? { left: long(shape.labels.left), top: Math.max(sink && 26, long(shape.labels.top)) } : narrow ? { left: 22, top: 20 } : { left: 24, top: 24 }
    const fit = (/** @type {{left: number, top: number}} */ { left, top }) =>
      heatmapLayout({ rows: shape.rows, columns: shape.columns, width: room.width - left, height: Math.max(160, room.height - top), ratio: devicePixelRatio, long: shape.upright })
    const layout = fit(words)
    const ticks = { left: Math.max(POSITION.least, count(shape.rows).length * POSITION.digit + POSITION.room), top: sink ? 26 : 24 }
    const gutters = layout.labelled ? words : ticks
    this.#layout = layout.labelled ? layout : { ...fit(ticks), labelled: false }
    this.#upright = shape.upright
    css(this.el.parentElement ?? this.el, { '--left': gutters.left, '--top': gutters.top, '--side': side, '--sink': sink, '--cell': this.#layout.cell })
    return { rows: this.#layout.rows, columns: this.#layout.columns }
  }

  /** @param {Data} data */
  update(data) {
    this.#data = data
    if (!this.#layout) return
    this.#paint(data, this.#layout)
    this.over.update(data, this.#layout)
    this.sink.update(data.sink ? (data.sides.sink ?? null) : null, data.rows, this.#layout, { scale: data.scale, map: data.map.pixels, page: data.page })
    this.#drawSides(data, this.#layout)
    this.#drawChoice(data, this.#layout)
    attr(this.plane, 'aria-label', `${data.values ? data.values.name.replace('weight', 'Weight') : 'Weights'} of ${data.title}`)
    attr(this.plane, 'aria-rowcount', data.totalRows)
    attr(this.plane, 'aria-colcount', data.totalColumns)
    this.#point(this.#hover && this.#inside(this.#hover) ? this.#hover : null)
  }

  /** @param {Data} data @param {Layout} layout */
  #paint(data, layout) {
    const now = [data.values?.of ?? data.weights, data.scaleName, data.map, data.page, data.hide, data.edge, data.sides, layout.cell, devicePixelRatio]
    if (now.every((part, at) => part === this.#painted[at])) return
    this.#painted = now
    const ratio = devicePixelRatio
    const { pixels, width, height } = paintCells(
      { weights: data.values?.of ?? data.weights, rows: data.rows.size, columns: data.columns.size, firstRow: data.rows.start },
      { cell: layout.cell, gap: layout.gap, ratio },
      { scale: data.scale, map: data.map.pixels, page: data.page, hidden: data.hide && data.columns.start === 0 ? 0 : -1, edge: data.edge },
    )
    Object.assign(this.canvas, { width, height })
    this.canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0)
    for (const part of [this.plane, this.canvas]) css(part, { width: width / ratio, height: height / ratio })
  }

  /** @param {Data} data @param {Layout} layout */
  #drawSides(data, layout) {
    const { entropy, received } = data.sides
    const upright = this.#upright
    this.axes.top.update({ span: data.columns, layout, word: data.key, upright, chosen: data.j })
    this.axes.left.update({ span: data.rows, layout, word: data.query, upright, chosen: data.i })
    const most = { entropy: Math.log(Math.max(2, data.totalColumns)), received: largestOf(data.hide ? received.subarray(1) : received) }
    this.bars.right.update({ values: entropy, span: data.rows, cell: layout.cell, most: most.entropy, length: BAR.right, chosen: data.i, skip: -1 })
    this.bars.bottom.update({ values: received, span: data.columns, cell: layout.cell, most: most.received, length: BAR.bottom, chosen: data.j, skip: data.hide ? 0 : -1 })
  }

  /** @param {Data} data @param {Layout} layout */
  #drawChoice(data, { cell, gap }) {
    const { i, j } = data
    for (const part of [this.hair.x, this.hair.y, this.ring]) part.hidden = j === null || !this.#inside({ i, j })
    if (j === null) return
    const { x, y } = this.#corner({ i, j }, cell)
    const size = cell - gap
    css(this.hair.x, { left: 0, top: y - 1, width: Math.max(0, x), height: size + 2 })
    css(this.hair.y, { left: x - 1, top: 0, width: size + 2, height: Math.max(0, y) })
    css(this.ring, { left: x, top: y, width: size, height: size })
    attr(this.line, 'aria-rowindex', i + 1)
    attr(this.cell, 'aria-colindex', j + 1)
    say(this.cell, cellSentence({ i, j, query: data.query(i).spoken, key: data.key(j).spoken, weight: this.#weightAt({ i, j }, data.values?.of), what: data.values?.spoken, ...(data.rank(i, j) ?? {}) }))
  }

  /** Shows what is pointed at, or by keyboard and touch what is chosen. @param {Place|null} at */
  #point(at) {
    this.#hover = at
    for (const part of [this.hair.hoverX, this.hair.hoverY]) part.hidden = !at
    for (const part of [this.axes.top, this.bars.bottom]) part.point(at?.j ?? null)
    for (const part of [this.axes.left, this.bars.right]) part.point(at?.i ?? null)
    const data = this.#data
    const chosen = data && data.j !== null && (this.#keyed || this.#touch) ? { i: data.i, j: data.j } : null
    const target = at ?? chosen
    if (!data || !this.#layout || !target || !this.#inside(target)) return this.tip.hide()
    const { cell, gap } = this.#layout
    const { x, y } = this.#corner(target, cell)
    if (at) {
      css(this.hair.hoverX, { top: y, height: cell - gap })
      css(this.hair.hoverY, { left: x, width: cell - gap })
      this.on.row(at.i)
    }
    const { i, j } = target
    const place = data.rank(i, j)
    const words = { title: data.title, i, j, query: data.query(i).name, key: data.key(j).name, weight: this.#weightAt(target), value: data.values && { name: data.values.name, amount: this.#weightAt(target, data.values.of) }, rank: place?.rank ?? null, of: place?.of ?? null }
    const plane = { width: this.plane.offsetWidth, height: this.plane.offsetHeight }
    this.tip.show(words, this.#touch ? null : { x, y, cell, plane, origin: { left: this.plane.offsetLeft, top: this.plane.offsetTop } })
  }

  /** @param {Place} at @param {number} cell */
  #corner({ i, j }, cell) {
    const data = /** @type {Data} */ (this.#data)
    return { x: (j - data.columns.start) * cell, y: (i - data.rows.start) * cell }
  }

  /** @param {Place} at */
  #inside({ i, j }) {
    return this.#data !== null && holds(this.#data.rows, i) && holds(this.#data.columns, j)
  }

  /** NaN outside the window. @param {Place} at @param {Float32Array} [of] */
  #weightAt(at, of) {
    if (!this.#data || !this.#inside(at)) return NaN
    const { rows, columns, weights } = this.#data
    return (of ?? weights)[(at.i - rows.start) * columns.size + at.j - columns.start]
  }

  /** @param {MouseEvent} event @returns {Place|null} */
  #under(event) {
    if (!this.#data || !this.#layout) return null
    const box = this.plane.getBoundingClientRect()
    const at = {
      i: this.#data.rows.start + Math.floor((event.clientY - box.top) / this.#layout.cell),
      j: this.#data.columns.start + Math.floor((event.clientX - box.left) / this.#layout.cell),
    }
    return this.#inside(at) ? at : null
  }

  #listen() {
    const { plane } = this
    plane.addEventListener('pointermove', (event) => {
      this.#touch = event.pointerType === 'touch'
      if (!this.#touch) this.#point(this.#under(event))
    })
    plane.addEventListener('pointerdown', (event) => {
      this.#touch = event.pointerType === 'touch'
      this.#keyed = false
    })
    plane.addEventListener('pointerleave', () => this.#point(null))
    plane.addEventListener('click', (event) => {
      const at = this.#under(event)
      if (at) this.on.choose(at.i, at.j, 'pointer')
    })
    plane.addEventListener('keydown', (event) => this.#press(event))
    plane.addEventListener('focus', () => {
      this.#keyed = plane.matches(':focus-visible')
      this.#point(this.#hover)
    })
    plane.addEventListener('blur', () => {
      this.#keyed = false
      this.#point(null)
    })
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (event.key === 'Escape') return this.on.leave()
    const data = this.#data
    const to = data && moveInGrid(event, { row: data.i, column: data.j ?? 0, rows: data.totalRows, columns: data.totalColumns })
    if (!to) return
    event.preventDefault()
    this.#keyed = true
    this.#hover = null
    this.on.choose(to.row, to.column, 'key')
  }
}

/** @param {string} name */
const hair = (name) => h('div', { class: `hair ${name}`, hidden: true })

/** @param {Span} span @param {number} at */
const holds = (span, at) => at >= span.start && at < span.start + span.size

/** @param {Float32Array} values */
const largestOf = (values) => values.reduce((most, value) => (value > most ? value : most), 0)
