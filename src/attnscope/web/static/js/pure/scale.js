// The four scales that place a weight between the ends of the colour map. Their domains are fixed: two heads compare.

import { MINUS, small } from './number.js'

/** @typedef {import("../types.js").Scale} Scale @typedef {import("../types.js").ScaleName} ScaleName */

/** @type {ScaleName[]} */
export const SCALES = ['linear', 'log', 'row', 'rank']

const DECADES = 4 // the log scale spans 1e-4 … 1

/**
 * @param {ScaleName} name
 * @param {{largest: (row: number) => number, sorted: () => Float32Array, most?: number}} head row's largest weight; visible weights, ascending; what the most colour stands for
 * @returns {Scale} (weight, row) -> 0 … 1
 */
export function makeScale(name, head) {
  const most = head.most ?? 1
  if (name === 'log') return (weight) => 1 + Math.log10(Math.max(share(weight, most), 10 ** -DECADES)) / DECADES
  if (name === 'row') return (weight, row) => share(weight, head.largest(row))
  if (name === 'rank') {
    const sorted = head.sorted()
    return (weight) => place(weight, sorted)
  }
  return (weight) => share(weight, most)
}

/** Ticks under a legend, evenly spaced from the least colour to the most, which stands for `most`. @param {ScaleName} name @param {number|null} [most] null is 1 @returns {string[]} */
export function ticks(name, most = null) {
  if (most !== null && name === 'log') return [`≤ ${small(most / 1e4)}`, ...[1e3, 1e2, 10, 1].map((part) => small(most / part))]
  if (most !== null && name === 'linear') return ['0', ...[0.25, 0.5, 0.75, 1].map((part) => small(most * part))]
  if (name === 'log') return [`≤ 1e${MINUS}4`, '.001', '.01', '.1', '1']
  if (name === 'row') return ['0', '', 'half', '', 'row’s largest']
  if (name === 'rank') return ['least', '', 'median', '', 'most']
  return ['0', '.25', '.5', '.75', '1']
}

/** What a colour means. @param {ScaleName} name @param {string} [what] */
export function meaning(name, what = 'weight') {
  return {
    linear: `the ${what} itself`,
    log: 'one decade a step',
    row: `each row by its largest ${what}`,
    rank: 'place among the visible cells; no amounts',
  }[name]
}

/** Visible weights in ascending order; negative marks a cell that is not visible. @param {Float32Array} weights */
export function sortedVisible(weights) {
  return weights.filter((weight) => weight >= 0).sort()
}

/** Largest weight of each row of a block, 0 where nothing is visible. @param {Float32Array} weights @param {number} columns */
export function largestOfRows(weights, columns) {
  const rows = columns ? weights.length / columns : 0
  const out = new Float32Array(rows)
  for (let row = 0; row < rows; row++) {
    for (let at = row * columns; at < (row + 1) * columns; at++) if (weights[at] > out[row]) out[row] = weights[at]
  }
  return out
}

/** 1 for the largest of the row; equal weights share a rank. @param {number} weight @param {ArrayLike<number>} row */
export function rankIn(weight, row) {
  let rank = 1
  for (let at = 0; at < row.length; at++) if (row[at] > weight) rank++
  return rank
}

/** Places of the `most` largest visible values, largest first, ties to the lower place. @param {Float32Array} values @param {number} most */
export function largest(values, most) {
  /** @type {number[]} */
  const best = []
  for (let at = 0; at < values.length; at++) {
    if (!(values[at] >= 0)) continue
    let slot = best.length
    while (slot > 0 && values[best[slot - 1]] < values[at]) slot--
    if (slot < most) best.splice(slot, 0, at)
    if (best.length > most) best.pop()
  }
  return best
}

/** @param {number} weight @param {number} whole */
function share(weight, whole) {
  return whole > 0 ? weight / whole : 0
}

/** Share of the sorted weights that are smaller. @param {number} weight @param {Float32Array} sorted */
function place(weight, sorted) {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle] < weight) low = middle + 1
    else high = middle
  }
  return sorted.length > 1 ? low / (sorted.length - 1) : 1
}
