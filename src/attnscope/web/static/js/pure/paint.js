// Weights to pixels: what a canvas of the heatmap or of a thumbnail holds, as little-endian RGBA.

import { edges } from './layout.js'
import { stepOf } from './colour.js'

/** @typedef {import("../types.js").Scale} Scale */

/**
 * Fills the pixels of a heatmap. A cell that is not visible stays transparent: the hatch behind it shows.
 * @param {{weights: Float32Array, rows: number, columns: number, firstRow: number}} block firstRow: position of its row 0
 * @param {{cell: number, gap: number, ratio: number}} size CSS px, and device px to one of them
 * @param {{scale: Scale, map: Uint32Array, page: number, hidden?: number}} colours hidden: a column left blank, counted in the block
 * @returns {{pixels: Uint32Array<ArrayBuffer>, width: number, height: number}} device px
 */
export function paintCells({ weights, rows, columns, firstRow }, { cell, gap, ratio }, { scale, map, page, hidden = -1 }) {
  const xs = edges(columns, cell, ratio)
  const ys = edges(rows, cell, ratio)
  const line = Math.round(gap * ratio)
  const [width, height] = [xs[columns], ys[rows]]
  const pixels = new Uint32Array(width * height)
  for (let r = 0; r < rows; r++) {
    const inner = ys[r + 1] - line
    for (let c = 0; c < columns; c++) {
      const weight = weights[r * columns + c]
      if (!(weight >= 0) && c !== hidden) continue
      const colour = c === hidden ? page : map[stepOf(scale(weight, firstRow + r))]
      for (let y = ys[r]; y < ys[r + 1]; y++) {
        const from = y * width
        if (y >= inner) pixels.fill(page, from + xs[c], from + xs[c + 1])
        else {
          pixels.fill(colour, from + xs[c], from + xs[c + 1] - line)
          if (line) pixels.fill(page, from + xs[c + 1] - line, from + xs[c + 1])
        }
      }
    }
  }
  return { pixels, width, height }
}

/**
 * Fills the pixels of a thumbnail, coloured by row. Where a pixel covers several cells it shows the largest.
 * @param {Float32Array} weights n x n, −1 where not visible @param {number} n @param {number} side device px @param {Uint32Array} map
 */
export function paintThumbnail(weights, n, side, map) {
  const pixels = new Uint32Array(side * side)
  const largest = new Float32Array(side)
  const values = new Float32Array(side * side)
  const span = (/** @type {number} */ at) => {
    const first = Math.min(n - 1, Math.floor((at * n) / side))
    return [first, Math.max(first + 1, Math.min(n, Math.floor(((at + 1) * n) / side)))]
  }
  for (let y = 0; y < side; y++) {
    const [top, bottom] = span(y)
    for (let x = 0; x < side; x++) {
      const [left, right] = span(x)
      let most = -1
      for (let r = top; r < bottom; r++) for (let c = left; c < right; c++) if (weights[r * n + c] > most) most = weights[r * n + c]
      values[y * side + x] = most
      if (most > largest[y]) largest[y] = most
    }
    for (let x = 0; x < side; x++) {
      const value = values[y * side + x]
      if (value >= 0) pixels[y * side + x] = map[stepOf(largest[y] > 0 ? value / largest[y] : 0)]
    }
  }
  return pixels
}
