// A weight between two words: the token weights it is made of, their sums over keys, and the mean over queries.

import { h } from '../dom.js'
import { label } from '../pure/marks.js'
import { count, weight, weight7 } from '../pure/number.js'

/** @typedef {import("../types.js").WordCell} WordCell */

const MOST = 8 // rows and columns that are written

/** @param {WordCell} cell @param {{query: import("../types.js").Token, key: import("../types.js").Token}} words @returns {HTMLElement[]} */
export function wordCell(cell, { query, key }) {
  const [queries, keys] = [cell.queries.slice(0, MOST), cell.keys.slice(0, MOST)]
  const sums = cell.keys.length > 1
  const head = h('tr', {}, h('td', {}), ...keys.map((place) => h('th', { scope: 'col' }, `key ${count(place)}`)), sums ? h('th', { scope: 'col' }, 'sum') : null)
  const rows = queries.map((place, r) => h('tr', {}, h('th', { scope: 'row' }, `query ${count(place)}`),
    ...keys.map((_, c) => h('td', { title: weight7(cell.weights[r][c]) }, weight(cell.weights[r][c]))), sums ? h('td', {}, weight(cell.sums[r])) : null))
  const left = cell.queries.length > MOST || cell.keys.length > MOST ? h('p', { class: 'small faint' }, `The first ${MOST} tokens of each word are listed; all are counted.`) : null
  const rule = [sums ? 'the sum over the keys' : '', cell.queries.length > 1 ? 'the mean over the queries' : ''].filter(Boolean).join(', then ') || 'one cell'
  return [
    h('p', { class: 'small dim' }, h('code', { dir: 'auto' }, label(query)), ' → ', h('code', { dir: 'auto' }, label(key)), `: ${rule}. Nothing is rescaled.`),
    h('div', { class: 'scroll' }, h('table', { class: 'word-cells' }, h('thead', {}, head), h('tbody', {}, ...rows))),
    ...(left ? [left] : []),
    h('div', { class: 'ln big' }, h('span', {}, 'weight'), h('span', { class: 'how' }, rule), h('span', { title: weight7(cell.shown) }, weight(cell.shown))),
  ]
}
