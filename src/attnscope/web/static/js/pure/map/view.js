// The part of a grid that is looked at: which cells stand where on the plane, at which level of the pyramid, in which tiles.

/**
 * levels: 0 is the whole grid in one tile, the last is one cell a pixel; tile: pixels along the side of a tile.
 * @typedef {{tq: number, tk: number, tile: number, levels: number}} Grid
 */
/** row, col: the cell at the upper left corner, with its fraction; scale: CSS px a cell. @typedef {{row: number, col: number, scale: number}} View */
/** @typedef {{width: number, height: number}} Size CSS px */
/** @typedef {{level: number, row: number, col: number}} Address of a tile */
/** @typedef {{x: number, y: number}} Point CSS px from the upper left corner of the plane */

export const LARGEST_CELL = 56 // px
export const LETTERED_FROM = 15 // px of a cell from which the axes are lettered with tokens
export const NUMBERED_FROM = 34 // px of a cell in which its weight is written

/** The scale at which the whole grid just fits. @param {Grid} grid @param {Size} size */
export const wholeScale = ({ tq, tk }, { width, height }) => Math.min(LARGEST_CELL, width / tk, height / tq)

/** @param {Grid} grid @param {Size} size @returns {View} */
export const whole = (grid, size) => ({ row: 0, col: 0, scale: wholeScale(grid, size) })

/** @param {View} view @param {Grid} grid @param {Size} size @returns {boolean} */
export const isWhole = (view, grid, size) => view.scale <= wholeScale(grid, size) * 1.0001

/** The view held inside the grid and between its ends of zoom. @param {View} view @param {Grid} grid @param {Size} size @returns {View} */
export function held({ row, col, scale }, grid, size) {
  const least = wholeScale(grid, size)
  const held = Math.max(least, Math.min(Math.max(LARGEST_CELL, least), Number.isFinite(scale) ? scale : least))
  const along = (/** @type {number} */ at, /** @type {number} */ cells, /** @type {number} */ px) => Math.max(0, Math.min(Number.isFinite(at) ? at : 0, cells - px / held))
  return { row: along(row, grid.tq, size.height), col: along(col, grid.tk, size.width), scale: held }
}

/** Zoomed so that the cell under a point stays there. @param {View} view @param {number} factor @param {Point} about @returns {View} */
export function zoomed(view, factor, { x, y }) {
  const scale = view.scale * factor
  return { row: view.row + y / view.scale - y / scale, col: view.col + x / view.scale - x / scale, scale }
}

/** Zoomed about a point and held: at an end of zoom nothing slides. @param {View} view @param {number} factor @param {Point} about @param {Grid} grid @param {Size} size */
export function zoomedIn(view, factor, about, grid, size) {
  const { scale } = held({ ...view, scale: view.scale * factor }, grid, size)
  return held(zoomed(view, scale / view.scale, about), grid, size)
}

/** @param {View} view @param {number} dx px the content moves to the right @param {number} dy px it moves down @returns {View} */
export const panned = (view, dx, dy) => ({ ...view, row: view.row - dy / view.scale, col: view.col - dx / view.scale })

/** The view of that scale with a cell in its middle. @param {{i: number, j: number}} cell @param {number} scale @param {Size} size @returns {View} */
export const centred = ({ i, j }, scale, { width, height }) => ({ row: i + 0.5 - height / scale / 2, col: j + 0.5 - width / scale / 2, scale })

/** The view moved as little as shows a cell whole. @param {View} view @param {{i: number, j: number}} cell @param {Size} size @returns {View} */
export function showing(view, { i, j }, { width, height }) {
  const along = (/** @type {number} */ from, /** @type {number} */ at, /** @type {number} */ px) => Math.min(at, Math.max(from, at + 1 - px / view.scale))
  return { ...view, row: along(view.row, i, height), col: along(view.col, j, width) }
}

/** @param {View} view @param {Point} point @param {Grid} grid @returns {{i: number, j: number}|null} */
export function cellAt(view, { x, y }, { tq, tk }) {
  const [i, j] = [Math.floor(view.row + y / view.scale), Math.floor(view.col + x / view.scale)]
  return i >= 0 && i < tq && j >= 0 && j < tk ? { i, j } : null
}

/** Where a cell's upper left corner stands. @param {View} view @param {{i: number, j: number}} cell @returns {Point} */
export const pointOf = (view, { i, j }) => ({ x: (j - view.col) * view.scale, y: (i - view.row) * view.scale })

/** Cells along the side of a pixel of that level. @param {Grid} grid @param {number} level */
export const stride = (grid, level) => 2 ** (grid.levels - 1 - level)

/** The coarsest level of which no pixel is drawn smaller than a device pixel: nothing is skipped, and little is fetched. @param {View} view @param {Grid} grid @param {number} ratio */
export function levelOf({ scale }, grid, ratio) {
  const last = grid.levels - 1
  return Math.max(0, Math.min(last, Math.floor(last + Math.log2(scale * ratio) + 1e-9)))
}

/** The cells that the plane shows: [first, end) of rows and of columns. @param {View} view @param {Grid} grid @param {Size} size */
export function shown(view, grid, { width, height }) {
  return {
    rows: { start: Math.floor(view.row), end: Math.min(grid.tq, Math.ceil(view.row + height / view.scale)) },
    columns: { start: Math.floor(view.col), end: Math.min(grid.tk, Math.ceil(view.col + width / view.scale)) },
  }
}

/**
 * The tiles of a level that the plane shows, nearest to its middle first. `seen` says whether anything is visible in rows and columns [first, end).
 * @param {View} view @param {Grid} grid @param {Size} size @param {number} level @param {(rows: [number, number], columns: [number, number]) => boolean} seen @returns {Address[]}
 */
export function tilesOf(view, grid, size, level, seen) {
  const span = stride(grid, level) * grid.tile
  const { rows, columns } = shown(view, grid, size)
  const middle = { row: view.row + size.height / view.scale / 2, col: view.col + size.width / view.scale / 2 }
  /** @type {(Address & {far: number})[]} */
  const out = []
  for (let row = Math.floor(rows.start / span); row * span < rows.end; row++) {
    for (let col = Math.floor(columns.start / span); col * span < columns.end; col++) {
      const [top, left] = [row * span, col * span]
      if (!seen([top, Math.min(grid.tq, top + span)], [left, Math.min(grid.tk, left + span)])) continue
      out.push({ level, row, col, far: Math.hypot(top + span / 2 - middle.row, left + span / 2 - middle.col) })
    }
  }
  return out.sort((a, b) => a.far - b.far).map(({ level, row, col }) => ({ level, row, col }))
}

/** The tile of the level above that holds this one. @param {Address} tile @returns {Address|null} */
export const parentOf = ({ level, row, col }) => (level > 0 ? { level: level - 1, row: row >> 1, col: col >> 1 } : null)

/** @param {Address} tile */
export const nameOf = ({ level, row, col }) => `${level}/${row}/${col}`

/** The part of the plane that a tile covers. @param {Address} tile @param {View} view @param {Grid} grid */
export function boxOf({ level, row, col }, view, grid) {
  const span = stride(grid, level) * grid.tile
  const { x, y } = pointOf(view, { i: row * span, j: col * span })
  return { x, y, side: span * view.scale }
}

/** Positions to write along an axis: round numbers at least `apart` px from one another. @param {number} from cell @param {number} cells @param {number} scale @param {number} apart */
export function ticksOf(from, cells, scale, apart) {
  let step = 1
  for (const size of function* () { for (let power = 1; ; power *= 10) yield* [power, 2 * power, 5 * power] }()) {
    step = size
    if (size * scale >= apart) break
  }
  const out = []
  for (let at = Math.ceil(from / step) * step; at < from + cells; at += step) out.push(at)
  return out
}
