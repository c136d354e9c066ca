// What stands under the crosshair: the query and the key in their text, the weight, its row and its column; and where on the whole this is.

import { css, h, put } from '../../dom.js'
import { context } from '../../pure/map/find.js'
import { shown } from '../../pure/map/view.js'
import { count, four, two, weight7 } from '../../pure/number.js'
import { pieces } from '../chip.js'

/** @typedef {import("../../types.js").Axis} Axis @typedef {import("../../types.js").Site} Site @typedef {import("../../types.js").Sides} Sides @typedef {{i: number, j: number}} Cell */
/**
 * point: what is pointed at, else what is chosen. weight: null on its way, under 0 not visible; product: what the number is made of, where it is no weight; block: what the value under the pointer stands for, where it is no cell.
 * @typedef {{site: Site, rows: Axis, columns: Axis, point: Cell|null, pointing: boolean, weight: number|null, product: {weight: number|null, length: number, name: string}|null, block: {value: number, cells: number, words: string}|null, distance: string, sides: Sides|undefined}} Data
 */

const SIDE = 128 // px of the whole in small

/** @param {HTMLElement} el @param {(cell: Cell) => void} go a place of the small whole was pressed */
export function mount(el, go) {
  const what = h('span', { class: 'small faint' })
  const canvas = h('canvas', { 'aria-hidden': 'true' })
  const frame = h('i')
  const dot = h('b')
  const mini = h('div', { class: 'mini hatch', title: 'The whole grid; press a place to go there' }, canvas, frame, dot)
  const lines = h('div', { class: 'ro num' })
  put(el, h('div', { class: 'sec' }, h('h2', {}, 'Here'), what), h('div', { class: 'under' }, mini, lines))
  /** @type {import("../../pure/map/view.js").Grid|null} */ let grid = null
  mini.addEventListener('click', (event) => {
    const box = mini.getBoundingClientRect()
    if (grid) go({ i: Math.min(grid.tq - 1, Math.floor(((event.clientY - box.top) / box.height) * grid.tq)), j: Math.min(grid.tk - 1, Math.floor(((event.clientX - box.left) / box.width) * grid.tk)) })
  })
  return {
    /** @param {Data} data */
    update({ site, rows, columns, point, pointing, weight, product, block, distance, sides }) {
      put(what, pointing ? 'row and column under the pointer' : 'row and column under the crosshair')
      if (!point) return put(lines, h('p', { class: 'dim wide' }, 'Press a place of the map to choose a cell.'))
      const { i, j } = point
      put(lines,
        h('span', { class: 'd' }, 'query'), h('span', {}, count(i)), around(rows, i),
        h('span', { class: 'd' }, 'key'), h('span', {}, count(j)), around(columns, j),
        h('span', { class: 'd' }, block ? 'pixel' : product ? 'moves' : 'weight'), h('span', { class: block ? 'w block' : 'w' }, number(weight, block), h('small', {}, block ? block.words : distance)),
        ...productLine(product), ...rowLine(site, sides, i), ...columnLine(sides, j, product))
    },
    /** @param {{grid: import("../../pure/map/view.js").Grid, view: import("../../pure/map/view.js").View, size: import("../../pure/map/view.js").Size, chosen: Cell|null, picture: HTMLCanvasElement|null}} data picture: the whole grid as the plane colours it, once it is there */
    whole(data) {
      grid = data.grid
      const { tq, tk } = data.grid
      const most = Math.max(tq, tk)
      const box = { width: Math.max(8, (SIDE * tk) / most), height: Math.max(8, (SIDE * tq) / most) }
      css(mini, box)
      const part = shown(data.view, data.grid, data.size)
      const share = (/** @type {number} */ at, /** @type {number} */ of, /** @type {number} */ px) => (at / of) * px
      const [left, top] = [share(part.columns.start, tk, box.width), share(part.rows.start, tq, box.height)]
      css(frame, { left: left - 1, top: top - 1, width: Math.max(6, share(part.columns.end, tk, box.width) - left + 2), height: Math.max(6, share(part.rows.end, tq, box.height) - top + 2) })
      dot.hidden = !data.chosen
      if (data.chosen) css(dot, { left: share(data.chosen.j + 0.5, tk, box.width), top: share(data.chosen.i + 0.5, tq, box.height) })
      drawWhole(canvas, data.picture)
    },
  }
}

/** @param {HTMLCanvasElement} canvas @param {HTMLCanvasElement|null} picture */
function drawWhole(canvas, picture) {
  canvas.hidden = !picture
  if (!picture) return
  Object.assign(canvas, { width: picture.width, height: picture.height })
  canvas.getContext('2d')?.drawImage(picture, 0, 0)
}

/** @param {number|null} weight @param {{value: number, cells: number}|null} block */
function number(weight, block) {
  if (block) return block.value < 0 ? '0' : weight7(block.value)
  if (weight === null) return '…'
  return weight < 0 ? '0' : weight7(weight)
}

/** The token with some text around it. @param {Axis} axis @param {number} at */
function around(axis, at) {
  const { before, token, after, more } = context(axis.tokens, at)
  return h('code', { dir: 'auto' }, more.before && '…', ...before.flatMap((one) => pieces(one)), token && h('mark', {}, ...pieces(token)), ...after.flatMap((one) => pieces(one)), more.after && '…')
}

/** @param {Data["product"]} product */
function productLine(product) {
  if (!product) return []
  const { weight, length, name } = product
  return [h('span', { class: 'd' }, 'weight'), h('span', {}, weight === null ? '…' : weight < 0 ? '0' : weight7(weight)), h('span', { class: 'dim' }, `${name.replace('weight ', '')} ${four(length)}`)]
}

/** @param {Site} site @param {Sides|undefined} sides @param {number} i */
function rowLine(site, sides, i) {
  if (!sides) return []
  const keys = site.causal ? i + (site.offset ?? 0) + 1 : null
  const sink = site.sinks && sides.sink ? ` · ${two(sides.sink[i])} to the learned sink` : ''
  const note = `nats${keys && keys > 1 ? `, of ${two(Math.log(keys))} possible` : ''}${sink}`
  return [h('span', { class: 'd' }, 'row'), h('span', {}, amount(sides.entropy[i])), h('span', { class: 'dim' }, note)]
}

/** @param {Sides|undefined} sides @param {number} j @param {Data["product"]} product */
function columnLine(sides, j, product) {
  if (!sides) return []
  const mean = sides.received_mean[j]
  return [h('span', { class: 'd' }, 'column'), h('span', {}, amount(sides.received[j])), h('span', { class: 'dim' }, Number.isNaN(mean) ? 'received; no query sees it' : `received, ${product ? four(mean) : weight7(mean)} a query that sees it`)]
}

/** @param {number} x */
const amount = (x) => (Number.isNaN(x) ? '–' : two(x))

