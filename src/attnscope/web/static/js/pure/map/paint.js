// Values of a tile to pixels, and the four scales as they mean on a map. A pixel stands for a block of cells.

import { stepOf } from '../colour.js'
import { MINUS, small } from '../number.js'

/** @typedef {"max"|"mean"|"sum"} Reduction @typedef {import("../../types.js").ScaleName} ScaleName */
/** values: −1 where nothing is visible; rows, columns: pixels; stride: cells along a pixel's side @typedef {{values: Float32Array, rows: number, columns: number, stride: number, top: number}} Tile top: the row of the grid that its first row of pixels begins with */

export const DECADES = 5

/** @type {Reduction[]} */
export const REDUCTIONS = ['max', 'mean', 'sum']

/** What a pixel is, in words. @param {Reduction} reduction @param {number} cells along its side @param {(n: number) => string} count @param {string} what a number of a cell is */
export function pixelWords(reduction, cells, count, what = 'weight') {
  if (cells === 1) return `1 pixel = 1 cell, its ${what}`
  const block = `1 pixel = ${count(cells)} × ${count(cells)} cells, `
  if (reduction === 'max') return `${block}their largest ${what}`
  if (reduction === 'mean') return `${block}the mean of those that are visible`
  return `${block}their sum, a query of the block on average`
}

/** A line that is thinner than a pixel is drawn a pixel wide, which is to be said. @param {Reduction} reduction @param {number} cells @param {(n: number) => string} count */
export const widened = (reduction, cells, count) => (reduction === 'max' && cells > 1 ? `A line one cell wide is drawn ${count(cells)} cells wide here` : '')

/** What is coloured: a sum is shared among the queries of its pixel, so that it stays a weight between 0 and 1. @param {Reduction} reduction @param {number} value @param {number} queries */
export const weightOf = (reduction, value, queries) => (reduction === 'sum' ? value / Math.max(1, queries) : value)

/**
 * @typedef {{name: ScaleName, reduction: Reduction, largest: (row: number, end: number) => number, sorted: Float32Array, most?: number}} Wanted
 *   largest: the largest weight of rows [row, end); sorted: the values of the whole picture in ascending order; most: what the most colour stands for, 1 where it is not said
 */

/** @param {Wanted} wanted @returns {(weight: number, row: number, end: number) => number} */
export function scaleOf({ name, largest, sorted, most = 1 }) {
  if (name === 'log') return (weight) => 1 + Math.log10(Math.max(weight / most, 10 ** -DECADES)) / DECADES
  if (name === 'row') {
    return (weight, row, end) => {
      const most = largest(row, end)
      return most > 0 ? weight / most : 0
    }
  }
  if (name === 'rank') return (weight) => rank(weight, sorted)
  return (weight) => weight / most
}

/** Ticks under the legend, whose end stands for `most`. @param {ScaleName} name @param {number|null} [most] null is 1 @returns {string[]} */
export function ticks(name, most = null) {
  if (most !== null && name === 'log') return Array.from({ length: DECADES + 1 }, (_, at) => (at ? '' : '≤ ') + small(most / 10 ** (DECADES - at)))
  if (most !== null && name === 'linear') return ['0', ...[0.25, 0.5, 0.75, 1].map((part) => small(most * part))]
  if (name === 'log') return [`≤ 1e${MINUS}5`, `1e${MINUS}4`, '.001', '.01', '.1', '1']
  if (name === 'row') return ['0', '', 'half', '', 'row’s largest']
  if (name === 'rank') return ['least', '', 'median', '', 'most']
  return ['0', '.25', '.5', '.75', '1']
}

/** Little-endian RGBA; what is not visible stays transparent. @param {Tile} tile @param {number} queries rows of the grid in all @param {Wanted} wanted @param {Uint32Array} map */
export function paint({ values, rows, columns, stride, top }, queries, wanted, map) {
  const pixels = new Uint32Array(rows * columns)
  const scale = scaleOf(wanted)
  for (let r = 0; r < rows; r++) {
    const first = top + r * stride
    const end = Math.min(queries, first + stride)
    for (let c = 0; c < columns; c++) {
      const value = values[r * columns + c]
      if (value >= 0) pixels[r * columns + c] = map[stepOf(scale(weightOf(wanted.reduction, value, end - first), first, end))]
    }
  }
  return pixels
}

/** The share of an ascending list that is smaller. @param {number} value @param {Float32Array} sorted */
function rank(value, sorted) {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle] < value) low = middle + 1
    else high = middle
  }
  return sorted.length > 1 ? Math.min(1, low / (sorted.length - 1)) : 1
}

/** Largest of each `step` values that follow one another, from `start` on, a number each: for a bar that stands for several. @param {Float32Array} values @param {number} start @param {number} end @param {number} bars @param {"max"|"mean"} how */
export function reduced(values, start, end, bars, how) {
  const out = new Float32Array(bars).fill(NaN)
  const each = (end - start) / bars
  for (let bar = 0; bar < bars; bar++) {
    const first = Math.floor(start + bar * each)
    const last = Math.min(values.length, Math.max(first + 1, Math.floor(start + (bar + 1) * each)))
    let [sum, most, seen] = [0, -Infinity, 0]
    for (let at = Math.max(0, first); at < last; at++) {
      if (Number.isNaN(values[at])) continue
      sum += values[at]
      seen++
      if (values[at] > most) most = values[at]
    }
    if (seen) out[bar] = how === 'max' ? most : sum / seen
  }
  return out
}

/** @type {WeakMap<Float32Array, (start: number, end: number) => number>} made once: the tables of a long text take a while */
const MADE = new WeakMap()

/** The largest weight of rows [start, end), from that of each row; 1 as long as they are on their way. @param {Float32Array|undefined} largest @returns {(start: number, end: number) => number} */
export function largestOfRows(largest) {
  if (!largest) return () => 1
  const found = MADE.get(largest) ?? rangeMaxima(largest.map((value) => (value >= 0 ? value : 0)))
  MADE.set(largest, found)
  return found
}

/** The largest of any range of a list, in a time that does not grow with the range: maxima of 2^n neighbours. @param {Float32Array} values @returns {(start: number, end: number) => number} */
export function rangeMaxima(values) {
  const tables = [values]
  for (let width = 1; width * 2 <= values.length; width *= 2) {
    const last = tables[tables.length - 1]
    tables.push(Float32Array.from({ length: values.length - width * 2 + 1 }, (_, at) => Math.max(last[at], last[at + width])))
  }
  return (start, end) => {
    if (end <= start || start >= values.length) return 0
    const stop = Math.min(end, values.length)
    const power = Math.floor(Math.log2(stop - start))
    return Math.max(tables[power][start], tables[power][stop - 2 ** power])
  }
}
