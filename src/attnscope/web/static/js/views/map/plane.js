// The plane of a map: tiles as they come, what is marked over them, the crosshair; panned and zoomed by hand, wheel, pinch and keys.

import { attr, css, h, put } from '../../dom.js'
import { largestOfRows, paint, scaleOf, weightOf } from '../../pure/map/paint.js'
import { boxOf, cellAt, isWhole, LETTERED_FROM, levelOf, nameOf, NUMBERED_FROM, parentOf, pointOf, stride, tilesOf } from '../../pure/map/view.js'
import { cellText } from '../../pure/map/words.js'
import { drawMarks } from './marks.js'
import { listenTo } from './hand.js'

/** @typedef {import("../../pure/map/view.js").View} View @typedef {import("../../pure/map/view.js").Grid} Grid @typedef {import("../../pure/map/view.js").Address} Address */
/** @typedef {import("../../tilestore.js").Loaded} Loaded @typedef {import("../../types.js").ColourMap} ColourMap */
/** @typedef {{i: number, j: number}} Cell */
/**
 * @typedef {{grid: Grid, view: View, tiles: ReturnType<import("../../tilestore.js").createTiles>, waits: (level: number) => boolean, seen: (rows: [number, number], columns: [number, number]) => boolean,
 *   pixel: import("../../pure/map/paint.js").Reduction, scale: import("../../types.js").ScaleName, largest: Float32Array|undefined, most: number, map: ColourMap,
 *   marks: import("../../pure/map/marks.js").Mark[], callouts: import("../../pure/map/marks.js").Callout[], offset: number, chosen: Cell|null, title: string}} Data
 */
/** @typedef {{view: (view: View) => void, choose: (cell: Cell, block: {rows: [number, number], columns: [number, number]}|null) => void, hover: (cell: Cell|null, value: number|null, cells: number) => void, open: (cell: Cell) => void}} On */

const HINT = 1600 // ms
const WHOLE = { level: 0, row: 0, col: 0 } // the tile that holds the whole grid

/** @param {HTMLElement} el @param {On} on */
export const mount = (el, on) => new Plane(el, on)

class Plane {
  /** @type {Data|null} */ #data = null
  /** @type {Map<string, {key: string, canvas: HTMLCanvasElement}>} */ #painted = new Map()
  /** @type {{of: Float32Array|undefined, sorted: Float32Array}} */ #ranks = { of: undefined, sorted: new Float32Array(0) }
  /** @type {Cell|null} */ #hover = null
  #hinting = 0

  /** @param {HTMLElement} el @param {On} on */
  constructor(el, on) {
    this.el = el
    this.on = on
    this.canvas = h('canvas', { 'aria-hidden': 'true' })
    this.over = h('div', { class: 'over', 'aria-hidden': 'true' })
    this.hair = { x: h('i', { class: 'hair x' }), y: h('i', { class: 'hair y' }), at: h('i', { class: 'ring' }) }
    this.ground = h('i', { class: 'ground hatch', 'aria-hidden': 'true' }) // of the grid alone: outside of it there is nothing that could be seen
    this.hint = h('span', { class: 'hint', hidden: true, 'aria-hidden': 'true' }, 'To zoom with the wheel press the map first, or hold Ctrl')
    put(el, this.ground, this.canvas, this.over, this.hair.x, this.hair.y, this.hair.at, this.hint)
    listenTo(el, {
      view: () => this.#data?.view ?? null,
      grid: () => this.#data?.grid ?? null,
      size: () => this.size(),
      turn: (view) => this.on.view(view),
      click: (point) => this.#choose(point),
      move: (point) => this.#point(point),
      passed: () => this.#hint(),
    })
  }

  size() {
    return { width: this.el.clientWidth, height: this.el.clientHeight }
  }

  focus() {
    this.el.focus()
  }

  /** @param {Data} data */
  update(data) {
    this.#data = data
    attr(this.el, 'aria-label', data.title)
    attr(this.el, 'data-whole', isWhole(data.view, data.grid, this.size()) ? '' : null)
    this.#draw(data)
    drawMarks(this.over, data, this.size())
    this.#crosshair(data)
    if (this.#hover) this.#tell(this.#hover)
  }

  /** The whole grid in one picture, coloured as the plane is; null on its way. */
  whole() {
    const loaded = this.#data?.tiles.get(WHOLE)
    return loaded && this.#data ? this.#canvasOf(WHOLE, loaded, this.#data) : null
  }

  /** The level that is drawn now. */
  level() {
    return this.#data ? levelOf(this.#data.view, this.#data.grid, devicePixelRatio) : 0
  }

  /** @param {Data} data */
  #draw(data) {
    const { width, height } = this.size()
    const ratio = devicePixelRatio
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)]
    this.canvas.dataset.cells = String(data.grid.tk)
    if (this.canvas.width !== wide || this.canvas.height !== high) Object.assign(this.canvas, { width: wide, height: high })
    const context = this.canvas.getContext('2d')
    if (!context) return
    context.clearRect(0, 0, wide, high)
    const end = pointOf(data.view, { i: data.grid.tq, j: data.grid.tk })
    css(this.ground, { width: end.x, height: end.y })
    context.imageSmoothingEnabled = false
    const level = this.level()
    const tiles = tilesOf(data.view, data.grid, { width, height }, level, data.seen)
    for (const tile of tiles) this.#drawTile(context, tile, data, ratio)
    const above = tiles.map(parentOf).filter((tile) => tile !== null)
    data.tiles.want([WHOLE, ...tiles, ...(above.length ? [above[0]] : [])].filter((tile) => !data.waits(tile.level)).filter(once()))
    if (data.view.scale >= NUMBERED_FROM && level === data.grid.levels - 1) this.#write(context, tiles, data, ratio)
  }

  /** Draws a tile, or while it loads the part of a coarser one that covers it. @param {CanvasRenderingContext2D} context @param {Address} tile @param {Data} data @param {number} ratio */
  #drawTile(context, tile, data, ratio) {
    /** @type {Address|null} */ let source = tile
    while (source && !data.tiles.get(source)) source = parentOf(source)
    const loaded = source && data.tiles.get(source)
    if (!source || !loaded) return
    const times = 2 ** (tile.level - source.level)
    const span = data.grid.tile / times
    const [left, top] = [(tile.col % times) * span, (tile.row % times) * span]
    const [columns, rows] = [Math.min(span, loaded.columns - left), Math.min(span, loaded.rows - top)]
    if (columns <= 0 || rows <= 0) return
    const box = boxOf(tile, data.view, data.grid)
    const px = (/** @type {number} */ x) => Math.round(x * ratio)
    const share = box.side / span
    const [x, y] = [px(box.x), px(box.y)]
    context.drawImage(this.#canvasOf(source, loaded, data), left, top, columns, rows, x, y, px(box.x + columns * share) - x, px(box.y + rows * share) - y)
  }

  /** @param {Address} tile @param {Loaded} loaded @param {Data} data */
  #canvasOf(tile, loaded, data) {
    const name = nameOf(tile)
    const key = [data.pixel, data.scale, data.most, data.map.css(1), data.scale === 'rank' ? this.#sorted(data).length : '', data.scale === 'row' && data.largest ? 'rows' : ''].join(' ')
    const known = this.#painted.get(name)
    if (known?.key === key) return known.canvas
    const { planes, rows, columns } = loaded
    const cells = stride(data.grid, tile.level)
    const wanted = { name: data.scale, reduction: data.pixel, largest: largestOfRows(data.largest), sorted: this.#sorted(data), most: data.most }
    const pixels = paint({ values: planes[data.pixel], rows, columns, stride: cells, top: tile.row * data.grid.tile * cells }, data.grid.tq, wanted, data.map.pixels)
    const canvas = known?.canvas ?? document.createElement('canvas')
    Object.assign(canvas, { width: columns, height: rows })
    canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows), 0, 0)
    this.#painted.set(name, { key, canvas })
    if (this.#painted.size > 200) this.#painted.delete(/** @type {string} */ (this.#painted.keys().next().value))
    return canvas
  }

  /** The wheel moved the page, and may have been meant for the map. */
  #hint() {
    this.hint.hidden = false
    clearTimeout(this.#hinting)
    this.#hinting = setTimeout(() => (this.hint.hidden = true), HINT)
  }

  /** A head's tiles are let go when another one is shown. */
  forget() {
    this.#painted.clear()
    this.#ranks = { of: undefined, sorted: new Float32Array(0) }
  }

  /** The values of the whole picture in order: a fixed domain, whatever part of it is looked at. @param {Data} data */
  #sorted({ tiles, pixel, grid }) {
    const loaded = tiles.get(WHOLE)
    const values = loaded?.planes[pixel]
    if (loaded && values && this.#ranks.of !== values) {
      const cells = stride(grid, 0)
      const weights = values.map((value, at) => (value < 0 ? value : weightOf(pixel, value, Math.min(cells, grid.tq - Math.floor(at / loaded.columns) * cells))))
      this.#ranks = { of: values, sorted: weights.filter((value) => value >= 0).sort() }
    }
    return this.#ranks.sorted
  }

  /** Writes the weight of each cell into it. @param {CanvasRenderingContext2D} context @param {Address[]} tiles @param {Data} data @param {number} ratio */
  #write(context, tiles, data, ratio) {
    const { view, grid, map } = data
    const size = view.scale * ratio
    context.font = `${Math.round(Math.min(13, view.scale * 0.31) * ratio)}px ${getComputedStyle(this.el).fontFamily}`
    context.textAlign = 'center'
    context.textBaseline = 'middle'
    for (const tile of tiles) {
      const loaded = data.tiles.get(tile)
      if (!loaded) continue
      for (let r = 0; r < loaded.rows; r++) {
        const i = tile.row * grid.tile + r
        const y = (i - view.row) * size
        if (y < -size || y > this.canvas.height) continue
        for (let c = 0; c < loaded.columns; c++) {
          const weight = loaded.planes.max[r * loaded.columns + c]
          const x = (tile.col * grid.tile + c - view.col) * size
          if (!(weight >= 0) || x < -size || x > this.canvas.width) continue
          context.fillStyle = map.ink(this.#place(weight, i, data)) === 'dark' ? '#000' : '#fff'
          context.fillText(cellText(weight), x + size / 2, y + size / 2)
        }
      }
    }
  }

  /** Where a weight stands on the colour map. @param {number} weight @param {number} i @param {Data} data */
  #place(weight, i, data) {
    return scaleOf({ name: data.scale, reduction: 'max', largest: largestOfRows(data.largest), sorted: this.#sorted(data), most: data.most })(weight, i, i + 1)
  }

  /** @param {Data} data */
  #crosshair({ chosen, view }) {
    const { width, height } = this.size()
    for (const part of Object.values(this.hair)) part.hidden = !chosen
    if (!chosen) return
    const { x, y } = pointOf(view, chosen)
    const side = Math.max(view.scale, 1)
    const ring = Math.max(14, side)
    const [cx, cy] = [x + view.scale / 2, y + view.scale / 2]
    const band = view.scale >= LETTERED_FROM ? view.scale : 1 // around the numbers, not through them
    css(this.hair.x, { left: 0, top: cy - band / 2, width: Math.max(0, Math.min(width, cx - ring / 2)), height: band })
    css(this.hair.y, { left: cx - band / 2, top: 0, width: band, height: Math.max(0, Math.min(height, cy - ring / 2)) })
    for (const part of [this.hair.x, this.hair.y]) part.classList.toggle('band', band > 1)
    css(this.hair.at, { left: cx - ring / 2, top: cy - ring / 2, width: ring, height: ring })
    this.hair.at.classList.toggle('square', side >= 14)
    this.hair.x.hidden = cy < 0 || cy > height
    this.hair.y.hidden = cx < 0 || cx > width
    this.hair.at.hidden = cx < -ring || cy < -ring || cx > width + ring || cy > height + ring
  }

  /** The block of cells behind a point, one cell where the deepest level is drawn. @param {Cell} cell */
  #block({ i, j }) {
    const { grid } = /** @type {Data} */ (this.#data)
    const cells = stride(grid, this.level())
    const from = (/** @type {number} */ at, /** @type {number} */ size) => /** @type {[number, number]} */ ([Math.floor(at / cells) * cells, Math.min(size, (Math.floor(at / cells) + 1) * cells)])
    return { rows: from(i, grid.tq), columns: from(j, grid.tk), cells }
  }

  /** @param {import("../../pure/map/view.js").Point} point */
  #choose(point) {
    const cell = this.#data && cellAt(this.#data.view, point, this.#data.grid)
    if (!cell) return
    const { rows, columns, cells } = this.#block(cell)
    this.on.choose(cell, cells > 1 ? { rows, columns } : null)
    if (cells === 1 && this.#data && this.#data.view.scale >= NUMBERED_FROM) this.on.open(cell)
  }

  /** @param {import("../../pure/map/view.js").Point|null} point */
  #point(point) {
    this.#hover = this.#data && point ? cellAt(this.#data.view, point, this.#data.grid) : null
    if (this.#hover) this.#tell(this.#hover)
    else this.on.hover(null, null, 1)
  }

  /** @param {Cell} cell */
  #tell(cell) {
    const data = /** @type {Data} */ (this.#data)
    const level = this.level()
    const cells = stride(data.grid, level)
    const [r, c] = [Math.floor(cell.i / cells), Math.floor(cell.j / cells)]
    const loaded = data.tiles.get({ level, row: Math.floor(r / data.grid.tile), col: Math.floor(c / data.grid.tile) })
    const value = loaded ? loaded.planes[data.pixel][(r % data.grid.tile) * loaded.columns + (c % data.grid.tile)] : null
    const seen = data.seen([cell.i, cell.i + 1], [cell.j, cell.j + 1])
    this.on.hover(cell, seen ? (value ?? null) : -1, cells)
  }
}

/** Keeps the first of equal addresses. */
function once() {
  /** @type {Set<string>} */ const known = new Set()
  return (/** @type {Address} */ tile) => !known.has(nameOf(tile)) && Boolean(known.add(nameOf(tile)))
}
