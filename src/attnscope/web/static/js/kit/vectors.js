// Vectors under one another, number by number: a short bar from 0 and the number, so that equal and unequal are seen at once.

import { css, h, put } from '../dom.js'
import { fixed, weight7 } from '../pure/number.js'

/**
 * values has one number a column; `plain` lines are differences: a 0 there is exact and reads "equal".
 * @typedef {{name: string, values: number[], difference?: boolean}} Line
 */

/**
 * @param {{label: string, columns: number}} opts
 * @returns {{el: HTMLElement, update: (data: {lines: Line[], most?: number}) => void}} most: the number that fills half a cell
 */
export function mountVectors({ label, columns }) {
  const body = h('tbody')
  const heads = Array.from({ length: columns }, (_, at) => h('th', { scope: 'col' }, String(at)))
  const el = h('div', { class: 'vectors' }, h('table', {}, h('caption', { class: 'sr' }, label), h('thead', {}, h('tr', {}, h('td', {}), ...heads)), body))
  return {
    el,
    update({ lines, most }) {
      const full = most ?? Math.max(1e-12, ...lines.flatMap((line) => line.values.map(Math.abs)))
      put(body, ...lines.map((line) => h('tr', { class: line.difference ? 'difference' : null }, h('th', { scope: 'row', dir: 'auto' }, line.name), ...line.values.map((x) => cell(x, full, line.difference === true)))))
    },
  }
}

/** @param {number} x @param {number} full @param {boolean} difference */
function cell(x, full, difference) {
  const bar = bars([x], full)
  const same = difference && x === 0
  return h('td', { class: same ? 'same' : difference ? 'apart' : null, title: same ? 'exactly equal' : weight7(x) }, bar, h('span', {}, fixed(x, 2)))
}

/** A row of short bars, each from the middle of its cell. @param {number[]} values @param {number} full */
export function bars(values, full) {
  return h(
    'span',
    { class: 'vector-bars', 'aria-hidden': 'true' },
    ...values.map((x) => {
      const size = 50 * Math.min(1, Math.abs(x) / full)
      const bar = h('i')
      css(bar, { height: `${size}%`, [x < 0 ? 'top' : 'bottom']: '50%' })
      return h('span', {}, bar)
    }),
  )
}
