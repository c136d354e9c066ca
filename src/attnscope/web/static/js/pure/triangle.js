// A causal head's visible cells, sent row after row, as the square that a picture needs.

/** @typedef {{n: number, weights: Float32Array, rows: number[][]}} Triangle weights n x n, −1 where not visible; rows: the visible ones */

/** @param {number[]} cells n (n + 1) / 2 of them @param {number} n @returns {Triangle} */
export function triangle(cells, n) {
  const weights = new Float32Array(n * n).fill(-1)
  const rows = Array.from({ length: n }, (_, i) => cells.slice((i * (i + 1)) / 2, ((i + 1) * (i + 2)) / 2))
  rows.forEach((row, i) => weights.set(row, i * n))
  return { n, weights, rows }
}

/** Where the largest stands, the first of equals. @param {number[]} values */
export const largestAt = (values) => values.reduce((best, value, at) => (value > values[best] ? at : best), 0)
