// What a length costs: two sliders, the grid and its stand-ins drawn to one scale, their numbers, and the curve of all lengths.

import { attr, h, put, s, say } from '../../dom.js'
import { mountCurve } from '../../kit/curve.js'
import { mountSlider } from '../../kit/slider.js'
import { count } from '../../pure/number.js'
import { inMegabytes, size } from '../../pure/size.js'
import { square } from '../../pure/square.js'
import { mountSeg } from '../seg.js'

/**
 * @typedef {{d: number, lengths: number[], windows: number[], cells: number[], grid_bytes: number[], rows_bytes: number[], tile_bytes: number[],
 *   tiles: [number, number][], window_cells: number[][]}} Cost
 */
/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */

const SIDE = 300 // px of the square
const OPENS = { length: 1024, window: 512 }
const NUMBER = 4 // bytes of a float32

/** @param {{law: HTMLElement, curve: HTMLElement}} places @param {Cost} cost @param {On} on */
export function mountCosts(places, cost, on) {
  const stops = (/** @type {number[]} */ values, /** @type {string} */ unit) => values.map((value) => ({ value, text: `${count(value)} ${unit}` }))
  const length = mountSlider({ label: 'Length', stops: stops(cost.lengths, 'tokens'), choose: (at) => choose('length', cost.lengths[at]) })
  const window = mountSlider({ label: 'Window', stops: stops(cost.windows, 'keys'), choose: (at) => choose('window', cost.windows[at]) })
  const show = mountSeg('What the curve shows', [{ value: 'memory', text: 'memory' }, { value: 'cells', text: 'cells computed' }], (value) => {
    on.change({ show: value === 'memory' ? null : value }, 'show')
    on.say(NOTES[value])
  })
  const law = h('div', { class: 'said' })
  const picture = s('svg', { class: 'square', role: 'img' })
  const thin = h('figcaption', {})
  const table = h('table', { class: 'nums cost-nums' })
  put(places.law,
    h('div', { class: 'controls' }, length.el, window.el), law,
    h('div', { class: 'two cost-two' }, h('figure', {}, picture, thin), h('div', {}, table)))
  const every = h('table', { class: 'nums' })
  const curve = { memory: curveOf('Bytes held for one head', 'bytes', size), cells: curveOf('Cells computed for one head', 'cells', count) }
  put(places.curve, h('div', { class: 'controls' }, h('span', { class: 'grp' }, 'Show', show.el)), curve.memory.el, curve.cells.el,
    h('details', { class: 'every' }, h('summary', {}, 'Every length as a table'), every))

  /** @param {"length"|"window"} name @param {number} value */
  function choose(name, value) {
    on.change({ [name]: value === OPENS[name] ? null : String(value) }, 'slider')
    on.say(name === 'length' ? law.textContent ?? '' : [...table.querySelectorAll('tbody tr:last-child > :not(:last-child)')].map((one) => one.textContent).join(': '))
  }

  return {
    /** @param {Parameters} state */
    update(state) {
      const at = placeOf(cost.lengths, state.length, OPENS.length)
      const w = placeOf(cost.windows, state.window, OPENS.window)
      length.update(at)
      window.update(w)
      say(law, sentence(cost, at))
      draw(picture, thin, cost, at, w)
      put(table, ...rows(cost, at, w))
      put(every, ...everyLength(cost, at, w))
      const kind = state.show === 'cells' ? 'cells' : 'memory'
      show.update(kind)
      curve.memory.el.hidden = kind !== 'memory'
      curve.cells.el.hidden = kind !== 'cells'
      curve[kind].update({ series: seriesOf(cost, w)[kind], mark: { x: cost.lengths[at], label: `${count(cost.lengths[at])} tokens` }, note: NOTES[kind] })
    },
  }
}

const NOTES = {
  memory: 'Both axes go by doublings: a slope of 2 is the square, a slope of 1 the line. The tiles’ line bends where the first tile is full.',
  cells: 'Tiles compute every cell of the grid, so they save memory and no work. A window computes fewer cells, and gives another output.',
}

/** @param {string} label @param {string} unit @param {(y: number) => string} format */
const curveOf = (label, unit, format) => mountCurve({ label, x: { label: 'tokens', log: 2, format: count, tick: count }, y: { label: unit, log: 2, format, tick: format }, height: 280 })

/** @param {number[]} values @param {string|undefined} wanted @param {number} otherwise */
function placeOf(values, wanted, otherwise) {
  const at = values.indexOf(Number(wanted))
  return at >= 0 ? at : Math.max(0, values.indexOf(otherwise))
}

/** @param {Cost} cost @param {number} at */
function sentence(cost, at) {
  const times = cost.cells[at] / cost.cells[0]
  const more = at ? `, ${count(times)} times the grid of ${count(cost.lengths[0])}` : ''
  return `${count(cost.lengths[at])} tokens: ${count(cost.cells[at])} cells, ${inMegabytes(cost.grid_bytes[at])} for one head${more}.`
}

/** @param {Cost} cost @param {number} w @returns {Record<"memory"|"cells", import("../../kit/curve.js").Series[]>} */
function seriesOf(cost, w) {
  const points = (/** @type {(at: number) => number} */ y) => cost.lengths.map((x, at) => /** @type {[number, number]} */ ([x, y(at)]))
  return {
    memory: [
      { name: 'whole grid', points: points((at) => cost.grid_bytes[at]), tone: 0 },
      { name: 'tiles', points: points((at) => cost.rows_bytes[at] + cost.tile_bytes[at]), tone: 1 },
    ],
    cells: [
      { name: 'whole grid, or tiles', points: points((at) => cost.cells[at]), tone: 0 },
      { name: `window of ${count(cost.windows[w])}`, points: points((at) => cost.window_cells[at][w]), tone: 1 },
    ],
  }
}

/** @param {Element} svg @param {HTMLElement} thin @param {Cost} cost @param {number} at @param {number} w */
function draw(svg, thin, cost, at, w) {
  const tokens = cost.lengths[at]
  const kept = cost.rows_bytes[at] / tokens / NUMBER
  const parts = square({ side: SIDE, tokens, kept, window: cost.windows[w], tile: { rows: cost.tiles[at][0], columns: cost.tiles[at][1] } })
  const box = (/** @type {string} */ name, /** @type {import("../../pure/square.js").Box} */ { x, y, width, height }) => s('rect', { class: name, x, y, width, height })
  attr(svg, 'viewBox', `-1 -1 ${(SIDE * 2.1).toFixed(0)} ${SIDE + 2}`)
  attr(svg, 'aria-label', `To one scale: a square of ${count(tokens)} by ${count(tokens)} cells; beside it a strip of ${count(kept)} by ${count(tokens)} numbers, which is what tiles keep; in it a band along the diagonal, which is what the window sees.`)
  put(svg, box('whole', parts.grid), s('polygon', { class: 'band', points: parts.band }), box('half', parts.half), box('tile', parts.tile), box('strip', parts.strip))
  /** @type {Record<string, string>} */
  const names = { rows: 'the strip', window: 'the band', tile: 'the tile' }
  const small = parts.thin.map((name) => names[name])
  say(thin, `All to one scale. Dashed: half the length, a quarter of the grid.${small.length ? ` Under one pixel and drawn as one: ${small.join(', ')}.` : ''}`)
}

/** @param {Cost} cost @param {number} at @param {number} w */
function rows(cost, at, w) {
  const [tokens, window] = [cost.lengths[at], cost.windows[w]]
  const line = (/** @type {string} */ key, /** @type {string} */ name, /** @type {string} */ numbers, /** @type {string} */ bytes) =>
    h('tr', {}, h('th', { scope: 'row' }, h('i', { class: `key ${key}` }), name), h('td', {}, numbers), h('td', {}, bytes))
  return [
    h('caption', {}, `One head at ${count(tokens)} tokens, d = ${count(cost.d)}`),
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, h('span', { class: 'sr' }, 'part')), h('th', { scope: 'col' }, 'numbers'), h('th', { scope: 'col' }, 'float32'))),
    h('tbody', {},
      line('whole', 'whole grid, T × T', count(cost.cells[at]), inMegabytes(cost.grid_bytes[at])),
      line('strip', `tiles, kept for the rows, T × ${count(cost.rows_bytes[at] / tokens / NUMBER)}`, count(cost.rows_bytes[at] / NUMBER), size(cost.rows_bytes[at])),
      line('tile', 'tiles, the one at work', count(cost.tile_bytes[at] / NUMBER), size(cost.tile_bytes[at])),
      line('band', `cells that a window of ${count(window)} computes`, count(cost.window_cells[at][w]), '–')),
  ]
}

/** @param {Cost} cost @param {number} chosen @param {number} w */
function everyLength(cost, chosen, w) {
  const columns = ['tokens', 'cells', 'whole grid', 'tiles', `cells, window ${count(cost.windows[w])}`]
  const line = (/** @type {number} */ tokens, /** @type {number} */ at) =>
    h('tr', { class: at === chosen ? 'chosen' : null }, h('th', { scope: 'row' }, count(tokens)),
      ...[count(cost.cells[at]), size(cost.grid_bytes[at]), size(cost.rows_bytes[at] + cost.tile_bytes[at]), count(cost.window_cells[at][w])].map((text) => h('td', {}, text)))
  return [h('thead', {}, h('tr', {}, ...columns.map((name) => h('th', { scope: 'col' }, name)))), h('tbody', {}, ...cost.lengths.map(line))]
}
