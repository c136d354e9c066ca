// All heads at a glance: layers go down, heads go right, each a small picture with its mean entropy under it.

import { attr, css, h, put, s } from '../dom.js'
import { moveInGrid } from '../pure/keyboard.js'
import { thumbnailSide } from '../pure/layout.js'
import { two } from '../pure/number.js'
import { paintThumbnail } from '../pure/paint.js'
import { longName, rows, shortName } from '../pure/sites.js'

/** @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Site} Site @typedef {import("../types.js").Block} Block @typedef {import("../types.js").ColourMap} ColourMap */
/** @typedef {import("../pure/sites.js").Row} Row */
/** @typedef {{result: Result, thumbnails: Block, layer: number, site: number|null, head: number, map: ColourMap}} Data site is null where the layer has nothing to show */
/** @typedef {{choose: (row: Row, head: number) => void, open: () => void, resize: () => void}} On */
/** @typedef {{row: Row, cells: HTMLElement[], painted: boolean, el: HTMLElement}} Line */

const NAMES = 20 // px of the column of layer names
const SCROLLBAR = 10

/** @param {HTMLElement} el @param {On} on */
export const mount = (el, on) => new Heads(el, on)

class Heads {
  /** @type {Data|null} */ #data = null
  /** @type {Line[]} */ #lines = []
  /** @type {HTMLElement|null} */ #chosen = null
  #side = 0

  /** @param {HTMLElement} el @param {On} on */
  constructor(el, on) {
    this.on = on
    this.grid = h('div', { class: 'heads-grid', role: 'grid', 'aria-label': 'Heads, layers down, heads across', 'aria-readonly': 'true' })
    this.scroll = h('div', { class: 'scroll' }, this.grid)
    const keys = ['↑', '↓', '←', '→', 'Enter'].flatMap((key) => [h('kbd', {}, key), ' '])
    put(el, h('div', { class: 'sec' }, h('h2', {}, 'Heads'), h('span', { class: 'faint small' }, 'by row · mean entropy, nats'), h('div', { class: 'end keys', 'aria-hidden': 'true' }, ...keys)), this.scroll)
    this.seen = new IntersectionObserver((entries) => this.#paintSeen(entries), { root: this.scroll, rootMargin: '200px' })
    this.size = new ResizeObserver(() => this.#data && this.#resize(this.#data))
    this.size.observe(this.scroll)
    this.grid.addEventListener('click', (event) => this.#click(event))
    this.grid.addEventListener('keydown', (event) => this.#press(event))
  }

  destroy() {
    this.seen.disconnect()
    this.size.disconnect()
  }

  focus() {
    this.#chosen?.focus()
  }

  /** @param {Data} data */
  update(data) {
    const before = this.#data
    this.#data = data
    if (before?.thumbnails !== data.thumbnails) this.#build(data)
    else if (before.map !== data.map) this.#repaint()
    this.#choose(data)
  }

  clear() {
    this.#data = null
    this.#lines = []
    put(this.grid)
  }

  /** @param {Data} data */
  #build(data) {
    this.seen.disconnect()
    const { result } = data
    const most = Math.max(1, ...result.sites.map((site) => site.heads))
    const top = h('div', { role: 'row', class: 'names' }, h('span', { role: 'columnheader' }, h('span', { class: 'sr' }, 'Layer')), ...Array.from({ length: most }, (_, head) => h('span', { role: 'columnheader' }, `H${head}`)))
    this.#lines = rows(result).map((row, at) => this.#line(row, at, most))
    css(this.grid, { '--heads': String(most) })
    attr(this.grid, 'data-most', most)
    put(this.grid, top, ...this.#lines.map((line) => line.el))
    this.#side = 0
    this.#resize(data)
  }

  /** @param {Row} row @param {number} at @param {number} most @returns {Line} */
  #line(row, at, most) {
    const result = /** @type {Data} */ (this.#data).result
    const name = row.kind === 'site' ? shortName(row.site, result) : `L${row.missing.layer}`
    const cells = row.kind === 'site'
      ? Array.from({ length: row.site.heads }, (_, head) => this.#cell(row.site, head, result))
      : [h('div', { class: 'hd gap', role: 'gridcell', tabindex: '-1', 'aria-selected': 'false', 'data-head': 0, 'aria-label': `Layer ${row.missing.layer}, not shown: ${row.missing.reason}`, title: row.missing.reason, style: { 'grid-column': `2 / span ${most}` } }, h('span', {}, row.missing.reason))]
    const el = h('div', { role: 'row', class: 'line', 'data-at': at }, h('span', { class: 'rl', role: 'rowheader' }, name), ...cells)
    return { row, cells, painted: false, el }
  }

  /** @param {Site} site @param {number} head @param {Result} result */
  #cell(site, head, result) {
    const refused = site.certificate[head]?.verdict === 'refused'
    const entropy = site.entropy[head]
    const known = !refused && Number.isFinite(entropy)
    const text = refused ? 'refused' : known ? two(entropy) : '–'
    return h('div', { class: refused ? 'hd refused' : 'hd', role: 'gridcell', tabindex: '-1', 'aria-selected': 'false', 'data-head': head, 'aria-label': `${longName(site, result)} head ${head}, ${refused ? 'refused, not drawn' : `mean entropy ${text} nats`}` },
      refused ? s('svg', { class: 'cross', viewBox: '0 0 10 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, s('path', { d: 'M0 0 10 10M10 0 0 10' })) : h('canvas', { 'aria-hidden': 'true' }),
      h('span', {}, text))
  }

  /** @param {Data} data */
  #resize({ thumbnails, result }) {
    if (!result.sites.length) return
    const most = Number(this.grid.dataset.most)
    const side = thumbnailSide({ width: this.scroll.clientWidth - NAMES - SCROLLBAR, columns: most, cells: thumbnails.shape[1], ratio: devicePixelRatio })
    if (side === this.#side) return
    this.#side = side
    const spare = (this.scroll.clientWidth - NAMES - SCROLLBAR - most * side) / most
    css(this.grid, { '--side': side, '--gap': Math.max(4, Math.min(12, spare)) })
    this.#repaint()
  }

  #repaint() {
    for (const line of this.#lines) {
      line.painted = false
      this.seen.unobserve(line.el)
      this.seen.observe(line.el)
    }
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #paintSeen(entries) {
    for (const entry of entries) {
      const line = this.#lines[Number(/** @type {HTMLElement} */ (entry.target).dataset.at)]
      if (entry.isIntersecting && line && !line.painted) this.#paintLine(line)
    }
  }

  /** @param {Line} line */
  #paintLine(line) {
    line.painted = true
    if (line.row.kind !== 'site' || !this.#data) return
    const { thumbnails, map } = this.#data
    const [, n] = thumbnails.shape
    const device = Math.max(1, Math.round(this.#side * devicePixelRatio))
    line.cells.forEach((cell, head) => {
      const canvas = cell.querySelector('canvas')
      if (!canvas) return
      const first = (/** @type {{first: number}} */ (line.row).first + head) * n * n
      const pixels = paintThumbnail(thumbnails.values.subarray(first, first + n * n), n, device, map.pixels)
      Object.assign(canvas, { width: device, height: device })
      canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), device, device), 0, 0)
    })
  }

  /** @param {Data} data */
  #choose({ layer, site, head }) {
    const line = this.#lines.find(({ row }) => (row.kind === 'site' ? row.site.site === site : site === null && row.missing.layer === layer))
    const cell = line?.cells[Math.min(head, line.cells.length - 1)] ?? null
    if (cell === this.#chosen) return
    const focused = this.#chosen !== null && this.#chosen === document.activeElement
    if (this.#chosen) attr(this.#chosen, 'aria-selected', false)
    if (this.#chosen) this.#chosen.tabIndex = -1
    this.#chosen = cell
    if (!cell) return
    attr(cell, 'aria-selected', true)
    cell.tabIndex = 0
    if (focused) cell.focus({ preventScroll: true })
    this.#reveal(cell)
  }

  /** Scrolls inside the panel alone. @param {HTMLElement} cell */
  #reveal(cell) {
    const [box, view] = [cell.getBoundingClientRect(), this.scroll.getBoundingClientRect()]
    if (this.scroll.scrollHeight > this.scroll.clientHeight) {
      if (box.top < view.top + 24) this.scroll.scrollTop += box.top - view.top - 40
      else if (box.bottom > view.bottom) this.scroll.scrollTop += box.bottom - view.bottom + 40
    }
    if (box.left < view.left + NAMES + 8) this.scroll.scrollLeft += box.left - view.left - NAMES - 40
    else if (box.right > view.right) this.scroll.scrollLeft += box.right - view.right + 40
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const cell = event.target instanceof Element ? event.target.closest('.hd') : null
    const line = this.#lines.find(({ cells }) => cells.some((other) => other === cell))
    if (!line || !(cell instanceof HTMLElement)) return
    cell.focus({ preventScroll: true })
    this.on.choose(line.row, Number(cell.dataset.head))
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const row = this.#lines.findIndex(({ cells }) => cells.some((cell) => cell === this.#chosen))
    if (row < 0) return
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      return this.on.open()
    }
    const column = /** @type {Data} */ (this.#data).head
    const to = moveInGrid(event, { row, column, rows: this.#lines.length, columns: Math.max(...this.#lines.map(({ cells }) => cells.length)) })
    if (!to) return
    event.preventDefault()
    this.on.choose(this.#lines[to.row].row, to.column)
  }
}
