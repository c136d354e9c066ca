// Numbers that stand in the page itself: float32 in base64, weights row after row without the cells that no query sees.

import { floats } from './decode.js'

/** @typedef {import("../types.js").Span} Span */
/**
 * Which columns the rows first … end − 1 see. runs: where each row's runs begin in `edges`, which holds begin and end of each run
 * (two numbers a run); places: where each row's weights begin.
 * @typedef {{first: number, end: number, runs: Int32Array, edges: Int32Array, places: Int32Array}} Seen
 */

/** @param {string} text base64 @returns {ArrayBuffer} */
function bytes(text) {
  const raw = atob(text)
  return Uint8Array.from(raw, (char) => char.charCodeAt(0)).buffer
}

/** @param {string} text base64 of float32 */
export const numbersIn = (text) => floats(bytes(text))

/** Runs as they are sent: how many each row has, then begin and end of each. @param {string} text base64 of int32 @param {number} first @param {number} end @returns {Seen} */
export function seenIn(text, first, end) {
  const view = new DataView(bytes(text))
  const told = Int32Array.from({ length: view.byteLength / 4 }, (_, at) => view.getInt32(4 * at, true))
  const size = end - first
  const edges = told.subarray(size)
  const [runs, places] = [new Int32Array(size + 1), new Int32Array(size + 1)]
  for (let row = 0; row < size; row++) {
    runs[row + 1] = runs[row] + told[row]
    places[row + 1] = places[row]
    for (let run = runs[row]; run < runs[row + 1]; run++) places[row + 1] += edges[2 * run + 1] - edges[2 * run]
  }
  if (2 * runs[size] !== edges.length) throw new RangeError(`${edges.length} edges came; ${2 * runs[size]} were told`)
  return { first, end, runs, edges, places }
}

/**
 * Calls `each` with every run of weights of the rows and columns: its row, the column of its first and the weights.
 * @param {Float32Array} values @param {Seen} seen @param {Span} rows @param {Span} columns @param {(row: number, column: number, weights: Float32Array) => void} each
 */
export function eachRun(values, { first, end, runs, edges, places }, rows, columns, each) {
  const last = columns.start + columns.size
  for (let row = Math.max(rows.start, first); row < Math.min(rows.start + rows.size, end); row++) {
    let place = places[row - first]
    for (let run = runs[row - first]; run < runs[row - first + 1]; run++) {
      const [begin, stop] = [edges[2 * run], edges[2 * run + 1]]
      const [from, to] = [Math.max(begin, columns.start), Math.min(stop, last)]
      if (from < to) each(row, from, values.subarray(place + from - begin, place + to - begin))
      place += stop - begin
    }
  }
}

/** A block of weights, −1 where not visible, NaN in rows that are not here. @param {Float32Array} values @param {Seen} seen @param {Span} rows @param {Span} columns */
export function blockIn(values, seen, rows, columns) {
  const out = new Float32Array(rows.size * columns.size).fill(NaN)
  const from = Math.max(rows.start, seen.first)
  out.fill(-1, (from - rows.start) * columns.size, Math.max(0, Math.min(rows.start + rows.size, seen.end) - rows.start) * columns.size)
  eachRun(values, seen, rows, columns, (row, column, weights) => out.set(weights, (row - rows.start) * columns.size + column - columns.start))
  return out
}

/**
 * A small picture: the largest weight of each square of `step` cells, −1 where nothing is visible.
 * @param {Float32Array} values @param {Seen} seen @param {{rows: number, columns: number}} size cells @param {number} step
 */
export function pictureIn(values, seen, { rows, columns }, step) {
  const wide = Math.ceil(columns / step)
  const out = new Float32Array(Math.ceil(rows / step) * wide).fill(-1)
  eachRun(values, seen, { start: 0, size: rows }, { start: 0, size: columns }, (row, column, weights) => {
    const line = Math.floor(row / step) * wide
    weights.forEach((weight, at) => {
      const place = line + Math.floor((column + at) / step)
      if (weight > out[place]) out[place] = weight
    })
  })
  return out
}

/** Numbers of the rows that are here among those of all, NaN for the others. @param {Float32Array} values @param {number} first @param {number} rows */
export function amongAll(values, first, rows) {
  if (values.length === rows) return values
  const out = new Float32Array(rows).fill(NaN)
  out.set(values, first)
  return out
}
