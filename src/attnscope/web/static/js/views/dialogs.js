// The two dialogs: the keys, and a row of weights as a table.

import { h } from '../dom.js'
import { count, weight7 } from '../pure/number.js'
import { rankIn } from '../pure/scale.js'

/** @param {string} title @param {...import("../dom.js").Child} children */
export function dialog(title, ...children) {
  const close = h('button', { class: 'btn', type: 'button', onclick: () => el.close() }, 'Close')
  const el = h('dialog', { 'aria-label': title }, h('div', { class: 'sec' }, h('h2', {}, title), h('div', { class: 'end' }, close)), ...children)
  el.addEventListener('click', (event) => event.target === el && el.close())
  el.addEventListener('close', () => el.remove())
  document.body.append(el)
  el.showModal()
  return el
}

/** @param {import("../pure/keyboard.js").KeyList} list */
export function showKeys(list) {
  dialog('Keys', h('div', { class: 'keys-list' }, ...list.map(({ part, keys }) =>
    h('section', {}, h('h3', {}, part), h('dl', {}, ...keys.flatMap((line) => [h('dt', {}, ...line.keys.flatMap((key) => [h('kbd', {}, key), ' '])), h('dd', {}, line.does)]))))))
}

/**
 * @param {{title: string, head: string, what: string, values: Float32Array, word: (at: number) => string, certificate: string}} data values: −1 where not visible
 */
export function showTable({ title, head, what, values, word, certificate }) {
  const visible = values.filter((value) => value >= 0).length
  const sorted = visible > 512 ? Float32Array.from(values).sort() : null
  const rank = (/** @type {number} */ value) => (sorted ? 1 + sorted.length - upper(sorted, value) : rankIn(value, values))
  const rows = Array.from(values, (value, at) =>
    h('tr', {}, h('td', {}, count(at)), h('td', { class: 'word' }, h('code', { dir: 'auto' }, word(at))), ...(Number.isNaN(value) ? [h('td', {}, '–'), h('td', {}, 'not in this file')] : value >= 0 ? [h('td', {}, weight7(value)), h('td', {}, count(rank(value)))] : [h('td', {}, '0'), h('td', {}, 'not visible')])))
  const table = h('table', {}, h('thead', {}, h('tr', {}, ...['position', head, what, `rank of ${count(visible)}`].map((text) => h('th', { scope: 'col' }, text)))), h('tbody', {}, ...rows))
  dialog(title, h('p', { class: 'small dim' }, certificate), h('div', { class: 'table', tabindex: '0' }, table))
}

/** A small message for where nothing else can carry it. @param {string} title @param {string} text */
export function showText(title, text) {
  const field = h('input', { class: 'field', readonly: true, value: text, 'aria-label': title })
  dialog(title, field)
  field.select()
  return field
}

/** How many of an ascending list are at most `value`. @param {Float32Array} sorted @param {number} value */
function upper(sorted, value) {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle] <= value) low = middle + 1
    else high = middle
  }
  return low
}

/** Whether a dialog is open: the page's own keys rest then. */
export const open = () => document.querySelector('dialog[open]') !== null

