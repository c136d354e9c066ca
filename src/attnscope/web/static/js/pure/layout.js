// Where the cells of a heatmap and of a thumbnail stand, in CSS pixels, and which of them fit.

/** @typedef {import("../types.js").Span} Span */

export const MOST_CELLS = 256
const SMALLEST = 2 // px of a cell that a pointer can still hit
const LARGEST = 36
const WHOLE_BELOW = 5 // smaller cells are whole pixels, or neighbours would differ by a visible third
const SMALLEST_PICTURE = 22 // px of a thumbnail; more of them than fit scroll
/** px between two thumbnails. */
export const GAP = 4
/** px of a cell under which an axis shows positions instead of tokens of one character, or of several. */
const LABELLED_FROM = { short: 7.5, long: 10.5 }

/**
 * cell is the side of a square; rows and columns say how many are shown; gap is the hairline of page between cells;
 * labelled says that the axes show tokens.
 * @typedef {{cell: number, rows: number, columns: number, gap: number, labelled: boolean, width: number, height: number}} Layout
 */

/**
 * @param {{rows: number, columns: number, width: number, height: number, ratio?: number, long?: boolean}} wanted
 *   cells there are, room there is, device pixels to a CSS pixel, whether labels have several characters
 * @returns {Layout}
 */
export function heatmapLayout({ rows, columns, width, height, ratio = 1, long = false }) {
  const shownRows = Math.min(rows, MOST_CELLS, Math.floor(height / SMALLEST))
  const shownColumns = Math.min(columns, MOST_CELLS, Math.floor(width / SMALLEST))
  const room = Math.min(width / Math.max(1, shownColumns), height / Math.max(1, shownRows), LARGEST)
  const unit = room < WHOLE_BELOW ? 1 : 1 / ratio
  const cell = Math.max(SMALLEST, Math.floor(room / unit) * unit)
  return {
    cell,
    rows: shownRows,
    columns: shownColumns,
    gap: cell >= 8 ? 1 : 0,
    labelled: cell >= LABELLED_FROM[long ? 'long' : 'short'],
    width: cell * shownColumns,
    height: cell * shownRows,
  }
}

/**
 * The span of `size` out of `total` that holds `chosen`. It stays where it was while the choice is inside,
 * and otherwise moves so that the choice has room on both sides.
 * @param {Span|null} before @param {number} size @param {number} total @param {number} chosen @returns {Span}
 */
export function windowOver(before, size, total, chosen) {
  if (size >= total) return { start: 0, size: total }
  const start = before && before.size === size ? before.start : -1
  if (start >= 0 && chosen >= start && chosen < start + size) return { start, size }
  return { start: Math.max(0, Math.min(total - size, chosen - (size >> 1))), size }
}

/** The same among the positions from `first` to `end` − 1 alone. @param {Span|null} before @param {number} size @param {number} first @param {number} end @param {number} chosen @returns {Span} */
export function windowWithin(before, size, first, end, chosen) {
  const inside = windowOver(before && { start: before.start - first, size: before.size }, size, end - first, chosen - first)
  return { start: inside.start + first, size: inside.size }
}

/** Positions to write along an axis: round numbers, at least `apart` px from one another. @param {Span} span @param {number} cell @param {number} [apart] */
export function tickPositions(span, cell, apart = 44) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((size) => size * cell >= apart) ?? 10000
  const out = []
  for (let at = Math.ceil(span.start / step) * step; at < span.start + span.size; at += step) out.push(at)
  return out
}

/** Edges of n cells in whole device pixels: n + 1 numbers, so that neighbours touch. @param {number} n @param {number} cell @param {number} ratio */
export function edges(n, cell, ratio) {
  return Int32Array.from({ length: n + 1 }, (_, at) => Math.round(at * cell * ratio))
}

/**
 * The side of a thumbnail that fits `columns` of them in `width` px, a whole number of pixels a cell where that costs little.
 * @param {{width: number, columns: number, cells: number, ratio?: number}} wanted @returns {number} CSS px
 */
export function thumbnailSide({ width, columns, cells, ratio = 1 }) {
  const room = Math.min(72, Math.max(SMALLEST_PICTURE, Math.floor(width / Math.max(1, columns)) - GAP))
  const crisp = (Math.floor((room * ratio) / Math.max(1, cells)) * cells) / ratio
  return crisp >= room * 0.8 ? crisp : room
}

/**
 * Where a tooltip stands beside the cell at (x, y): up and to the left, so that the row's and the column's
 * remaining cells stay uncovered, flipped where it would leave the plane.
 * @param {{x: number, y: number, cell: number, tip: {width: number, height: number}, plane: {width: number, height: number}}} at
 * @returns {{left: number, top: number}}
 */
export function tipPlace({ x, y, cell, tip, plane }) {
  const away = 12
  const left = x - tip.width - away >= 0 ? x - tip.width - away : x + cell + away
  const top = y - tip.height - away >= -24 ? y - tip.height - away : y + cell + away
  return { left: Math.min(left, Math.max(0, plane.width + 72 - tip.width)), top }
}
