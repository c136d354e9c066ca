// The last row of a head: every weight, and beside it the weight times the norm of the projected value.

import { h, put } from '../../dom.js'
import { label as written } from '../../pure/marks.js'
import { count, fixed, weight } from '../../pure/number.js'
import { mountSeg } from '../seg.js'
import { character, jumps, mountTwins } from './twins.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */
/** @typedef {{layer: number, head: number, by_weight: number, by_product: number}} Change */
/** @typedef {{line: string, weights: number[][][], norms: number[][][], products: number[][][], changes: Change[], rows_changed: number, rows: number}} Norms */
/** @typedef {{layer: number, head: number, key: number}} Place */

/** @param {HTMLElement} el @param {Norms} data @param {On} on */
export function mountNorms(el, data, on) {
  const [layers, heads, keys] = [data.weights.length, data.weights[0].length, data.line.length]
  const first = data.changes[0] ?? { layer: 0, head: 0, by_weight: keys - 1, by_product: keys - 1 }
  const fresh = { layer: first.layer, head: first.head, key: first.by_product }
  let at = fresh
  /** @param {Partial<Place>} to @param {string} kind */
  function go(to, kind) {
    const next = { ...at, ...to }
    on.change({ row: `${next.layer}.${next.head}.${next.key}` }, kind)
    on.say(`${told(data, next)} ${compared(data, next)}`)
  }
  const layer = mountSeg('Layer', numbers(layers), (value) => go({ layer: Number(value) }, 'row'))
  const head = mountSeg('Head', numbers(heads), (value) => go({ head: Number(value) }, 'row'))
  const twins = mountTwins({ label: 'Keys of the last row', line: data.line, names: ['weight', 'weight × norm'], choose: (key) => go({ key }, 'key') })
  const found = jumps('Another key comes first in', data.changes.map((change) => ({ text: `L${change.layer} H${change.head}`, act: () => go({ layer: change.layer, head: change.head, key: change.by_product }, 'row') })))
  const chosen = h('p', { class: 'small dim' })
  const said = h('p', { class: 'said' })
  put(el, h('div', { class: 'controls' }, h('span', { class: 'grp' }, 'Layer', layer.el), h('span', { class: 'grp' }, 'Head', head.el), found), twins.el, chosen, said)

  return {
    /** @param {Parameters} state */
    update(state) {
      at = placed(state.row, [layers, heads, keys]) ?? fresh
      layer.update(String(at.layer))
      head.update(String(at.head))
      twins.update({ above: data.weights[at.layer][at.head], below: data.products[at.layer][at.head], key: at.key })
      put(chosen, told(data, at))
      put(said, compared(data, at))
    },
    destroy() {},
  }
}

/** A choice of 0, 1, 2 … @param {number} n */
export const numbers = (n) => Array.from({ length: n }, (_, at) => ({ value: String(at), text: String(at) }))

/** "0.2.26" as a place, or null where it is none. @param {string|undefined} text @param {number[]} sizes @returns {Place|null} */
export function placed(text, sizes) {
  const parts = (text ?? '').split('.')
  const good = parts.length === 3 && parts.every((part, at) => /^\d{1,3}$/.test(part) && Number(part) < sizes[at])
  return good ? { layer: Number(parts[0]), head: Number(parts[1]), key: Number(parts[2]) } : null
}

/** “h” 26. @param {string} line @param {number} key */
export const named = (line, key) => `“${written(character(line[key]))}” ${key}`

/** The place of an amount among the others, 1 the largest. @param {number[]} row @param {number} j */
export const rank = (row, j) => 1 + row.filter((x) => x > row[j]).length

/** @param {Norms} data @param {Place} at */
function told({ line, weights, norms, products }, { layer, head, key }) {
  const [w, product] = [weights[layer][head], products[layer][head]]
  const norm = fixed(norms[layer][head][key], 3)
  return `${named(line, key)}: weight ${weight(w[key])} × norm ${norm} = ${weight(product[key])}; by weight it is ${rank(w, key)} of ${line.length}, by the product ${rank(product, key)} of ${line.length}.`
}

/** Which key comes first, by either. @param {Norms} data @param {Place} at */
function compared({ line, weights, products, rows_changed, rows }, { layer, head }) {
  const [w, product] = [weights[layer][head], products[layer][head]]
  const [a, b] = [w, product].map((row) => row.indexOf(Math.max(...row)))
  const all = `Over all rows of all heads that is so in ${count(rows_changed)} of ${count(rows)}.`
  if (a === b) return `Layer ${layer}, head ${head}: both put ${named(line, a)} first.`
  return `Layer ${layer}, head ${head}: the largest weight is on ${named(line, a)}, and yet ${named(line, b)} adds more to the stream, ${weight(product[b])} against ${weight(product[a])}. ${all}`
}
