// The products of the lesson's example twice, as Python made them: by two loops, and by one matrix product.

import { h } from '../../dom.js'
import { typed } from '../../pure/walk/format.js'

/** @typedef {{words: string[], products: number[][], loops: number[][]}} Data */

const LOOPS = `for i in range(n):
    for j in range(n):
        products[i, j] = q[i] @ k[j]`
const PRODUCT = 'products = q @ k.T'

/** @param {Data} data */
export function mountProducts({ words, products, loops }) {
  const same = products.every((row, i) => row.every((x, j) => x === loops[i][j]))
  return h('div', {},
    h('div', { class: 'two' }, half('Two loops', LOOPS, words, loops), half('One matrix product', PRODUCT, words, products)),
    h('p', { class: 'caption' }, `Rows are queries, columns are keys. ${same ? `All ${products.length * words.length} numbers are the same, to the last bit.` : 'The numbers differ in their last places.'}`))
}

/** @param {string} title @param {string} code @param {string[]} words @param {number[][]} values */
function half(title, code, words, values) {
  return h('div', {}, h('pre', { class: 'code' }, h('code', {}, code)),
    h('table', { class: 'nums' }, h('caption', {}, title),
      h('thead', {}, h('tr', {}, h('td', {}), ...words.map((word) => h('th', { scope: 'col' }, h('bdi', {}, word))))),
      h('tbody', {}, ...values.map((row, i) => h('tr', {}, h('th', { scope: 'row' }, h('bdi', {}, words[i])), ...row.map((x) => h('td', {}, typed(x))))))))
}
