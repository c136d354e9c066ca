// Cells around the chosen one, with their weights, tokens and what lies outside: one can walk from cell to cell here.

import { attr, h, put } from '../../dom.js'
import { moveInGrid } from '../../pure/keyboard.js'
import { cellText, shortPosition } from '../../pure/map/words.js'
import { count } from '../../pure/number.js'
import { pieces } from '../chip.js'

const UPRIGHT = 4 // letters that stand upright over a column on a phone

/** @typedef {import("../../types.js").Axis} Axis @typedef {import("../../types.js").Span} Span @typedef {{i: number, j: number}} Cell */
/** weights: of rows x columns, −1 where not visible; undefined on their way @typedef {{grid: {tq: number, tk: number}, chosen: Cell|null, rows: Span, columns: Span, weights: Float32Array|undefined, colour: (weight: number, i: number) => number, map: import("../../types.js").ColourMap, axes: {rows: Axis, columns: Axis}, sink: Float32Array|null, most: number, seeing: (i: number) => boolean, whole: boolean, scale: string}} Data most: what a number can be at most; seeing: whether a row sees any key; whole: whether a row adds up to 1, so that something is elsewhere; scale: the colour, where it is another than the map's */
/** @typedef {{choose: (cell: Cell) => void, fly: () => void, open: (cell?: Cell) => void}} On */

export const SIDE = 8

/** @param {HTMLElement} el @param {On} on */
export function mount(el, on) {
  const what = h('span', { class: 'small faint' })
  const arithmetic = h('button', { class: 'btn quiet', type: 'button', onclick: () => on.open() }, 'Arithmetic')
  const fly = h('button', { class: 'btn quiet', type: 'button', onclick: on.fly }, 'Fly there ', h('kbd', {}, 'Enter'))
  const grid = h('div', { class: 'lens num', role: 'grid', tabindex: '0', 'aria-label': 'Cells around the chosen one', 'aria-readonly': 'true' })
  put(el, h('div', { class: 'sec' }, h('h2', {}, 'Lens'), what, h('div', { class: 'end' }, arithmetic, fly)), grid)
  /** @type {Data|null} */ let data = null

  grid.addEventListener('click', (event) => {
    const cell = event.target instanceof HTMLElement && event.target.closest('.cl')
    if (!(cell instanceof HTMLElement)) return
    const at = { i: Number(cell.dataset.i), j: Number(cell.dataset.j) }
    on.choose(at)
    on.open(at)
  })
  grid.addEventListener('keydown', (event) => {
    if (!data?.chosen) return
    if (event.key === 'Enter') {
      event.preventDefault()
      return on.fly()
    }
    if (event.key === ' ') {
      event.preventDefault()
      return on.open()
    }
    const to = moveInGrid(event, { row: data.chosen.i, column: data.chosen.j, rows: data.grid.tq, columns: data.grid.tk })
    if (!to) return
    event.preventDefault()
    on.choose({ i: to.row, j: to.column })
  })

  return {
    focus: () => grid.focus(),
    /** @param {Data} now */
    update(now) {
      data = now
      arithmetic.disabled = fly.disabled = !now.chosen
      put(what, `${SIDE} × ${SIDE} cells${now.scale && `, ${now.scale} colour`}`)
      const { rows, columns } = now
      const spots = (/** @type {Span} */ span) => Array.from({ length: span.size }, (_, at) => span.start + at)
      const head = h('div', { role: 'row', class: 'lr top' }, h('span', { class: 'corner' }), h('span', { class: 'corner second' }),
        ...spots(columns).map((j) => h('span', { class: j === now.chosen?.j ? 'hd on' : 'hd', role: 'columnheader' }, h('span', { class: 'p' }, shortPosition(j, j === columns.start || j === now.chosen?.j)), h('span', { class: 't', dir: 'auto' }, ...tokenOf(now.axes.columns, j)))),
        h('span', { class: 'el', role: 'columnheader' }, now.whole && 'elsewhere'))
      if ([...head.querySelectorAll('.t')].every((name) => [...(name.textContent ?? '')].length <= UPRIGHT)) head.classList.add('brief')
      put(grid, head, ...spots(rows).map((i) => line(i, spots(columns), now)))
    },
  }
}

/** @param {number} i @param {number[]} columns @param {Data} data */
function line(i, columns, data) {
  const { weights, rows, chosen } = data
  const on = i === chosen?.i
  const sunk = data.sink?.[i] ?? 0
  let inside = 0 // the sink has no column here, so that its share is elsewhere
  const cells = columns.map((j, c) => {
    const weight = weights?.[(i - rows.start) * data.columns.size + c]
    if (weight !== undefined && weight > 0) inside += weight
    return cellOf(i, j, weight, data)
  })
  const left = weights && data.whole && data.seeing(i) ? cellText(Math.max(0, 1 - inside)) : ''
  const el = h('span', { class: 'el', role: 'gridcell', title: sunk ? `${cellText(sunk)} of it goes to the learned sink` : null }, left)
  return h('div', { role: 'row', class: 'lr' }, h('span', { class: on ? 'p on' : 'p' }, count(i)), h('span', { class: on ? 'rw on' : 'rw', role: 'rowheader', dir: 'auto' }, ...tokenOf(data.axes.rows, i)), ...cells, el)
}

/** @param {number} i @param {number} j @param {number|undefined} weight @param {Data} data */
function cellOf(i, j, weight, { chosen, colour, map, most }) {
  const at = i === chosen?.i && j === chosen.j
  const name = ['cl', at && 'at', weight !== undefined && weight >= 0.3 * most && 'big', weight !== undefined && weight < 0 && 'hatch'].filter(Boolean).join(' ')
  const said = weight === undefined ? 'on its way' : weight < 0 ? 'not visible' : cellText(weight)
  const el = h('span', { class: name, role: 'gridcell', 'aria-label': `query ${count(i)}, key ${count(j)}, ${said}` }, weight === undefined ? '' : weight < 0 ? '' : cellText(weight))
  attr(el, 'aria-selected', at)
  el.dataset.i = String(i)
  el.dataset.j = String(j)
  if (weight !== undefined && weight >= 0) {
    const t = colour(weight, i)
    el.style.setProperty('background', map.css(t))
    el.style.setProperty('color', `var(--cell-${map.ink(t)})`)
  }
  return el
}

/** @param {Axis} axis @param {number} at */
const tokenOf = (axis, at) => (axis.tokens[at] ? pieces(axis.tokens[at]) : [])

