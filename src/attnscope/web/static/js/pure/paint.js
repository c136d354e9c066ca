// Weights to pixels: what a canvas of the heatmap or of a thumbnail holds, as little-endian RGBA.

import { edges } from './layout.js'
import { stepOf } from './colour.js'

/** @typedef {import("../types.js").Scale} Scale */

/**
 * Fills the pixels of a heatmap. A cell that is not visible stays transparent: the hatch behind it shows.
 * @param {{weights: Float32Array, rows: number, columns: number, firstRow: number}} block firstRow: position of its row 0
 * @param {{cell: number, gap: number, ratio: number}} size CSS px, and device px to one of them
 * An edge is drawn where a row's keys begin after ones it does not see, and under keys that the next row sees no more.
 * @param {{scale: Scale, map: Uint32Array, page: number, hidden?: number, edge?: number}} colours hidden: a column left blank, counted in the block; edge: packed pixel, 0 for none
 * @returns {{pixels: Uint32Array<ArrayBuffer>, width: number, height: number}} device px
 */
export function paintCells({ weights, rows, columns, firstRow }, { cell, gap, ratio }, { scale, map, page, hidden = -1, edge = 0 }) {
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
  if (edge) paintEdges(pixels, { weights, rows, columns, xs, ys, width, thick: Math.max(1, Math.round(ratio)) }, edge)
  return { pixels, width, height }
}

/**
 * @param {Uint32Array} pixels
 * @param {{weights: Float32Array, rows: number, columns: number, xs: Int32Array, ys: Int32Array, width: number, thick: number}} grid
 * @param {number} edge
 */
function paintEdges(pixels, { weights, rows, columns, xs, ys, width, thick }, edge) {
  const seen = (/** @type {number} */ r, /** @type {number} */ c) => weights[r * columns + c] >= 0
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      if (!seen(r, c)) continue
      if (c > 0 && !seen(r, c - 1)) for (let y = ys[r]; y < ys[r + 1]; y++) pixels.fill(edge, y * width + xs[c], y * width + xs[c] + thick)
      if (r + 1 < rows && !seen(r + 1, c)) for (let y = ys[r + 1] - thick; y < ys[r + 1]; y++) pixels.fill(edge, y * width + xs[c], y * width + xs[c + 1])
    }
  }
}

/**
 * Fills the pixels of a thumbnail, coloured by row. Where a pixel covers several cells it shows the largest.
 * @param {Float32Array} weights −1 where not visible @param {{rows: number, columns: number, stride?: number}} cells stride: numbers from one row to the next
 * @param {{width: number, height: number}} size device px @param {Uint32Array} map
 */
export function paintThumbnail(weights, { rows, columns, stride = columns }, { width, height }, map) {
  const pixels = new Uint32Array(width * height)
  const values = new Float32Array(width)
  for (let y = 0; y < height; y++) {
    const [top, bottom] = covered(y, height, rows)
    let largest = 0
    for (let x = 0; x < width; x++) {
      const [left, right] = covered(x, width, columns)
      let most = -1
      for (let r = top; r < bottom; r++) for (let c = left; c < right; c++) if (weights[r * stride + c] > most) most = weights[r * stride + c]
      values[x] = most
      if (most > largest) largest = most
    }
    for (let x = 0; x < width; x++) if (values[x] >= 0) pixels[y * width + x] = map[stepOf(largest > 0 ? values[x] / largest : 0)]
  }
  return pixels
}

/** The cells that one of `side` pixels covers. @param {number} at @param {number} side @param {number} cells */
function covered(at, side, cells) {
  const first = Math.min(cells - 1, Math.floor((at * cells) / side))
  return [first, Math.max(first + 1, Math.min(cells, Math.floor(((at + 1) * cells) / side)))]
}
