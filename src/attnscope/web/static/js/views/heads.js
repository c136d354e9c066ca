// All heads at a glance: layers go down, heads go right, each a small picture with its class, or its mean entropy, under it.

import { attr, css, h, put, s } from '../dom.js'
import { moveInGrid } from '../pure/keyboard.js'
import { GAP, thumbnailSide } from '../pure/layout.js'
import { two } from '../pure/number.js'
import { paintThumbnail } from '../pure/paint.js'
import { groupOf, groupsOf, sharing } from '../pure/places.js'
import { groupOfMissing, longName, rows, shortName } from '../pure/sites.js'
import { glyph } from './heads/glyph.js'
import { mountLegend } from './heads/legend.js'
import { mountSeg } from './seg.js'

/** @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Site} Site @typedef {import("../types.js").Block} Block @typedef {import("../types.js").ColourMap} ColourMap */
/** @typedef {import("../pure/sites.js").Row} Row @typedef {import("../types.js").Group} Group @typedef {import("../types.js").Missing} Missing */
/** What is known of the heads: what each is called, by "site.head", and the classes that there are. @typedef {{called: Map<string, import("../pure/heads/classes.js").Called>, legend: import("./heads/legend.js").Line[]}} Named */
/** @typedef {{result: Result, thumbnails: Block, at: Site|Missing|null, head: number, map: ColourMap, named?: Named|null, more?: string|null}} Data at: the chosen site, or a layer that has nothing to show; more: the page that tells more of the heads */
/** @typedef {{choose: (row: Row, head: number) => void, group: (group: Group) => void, open: () => void, resize: () => void}} On */
/** @typedef {{row: Row, cells: HTMLElement[], painted: boolean, el: HTMLElement}} Line */

const NAMES = 20 // px of the column of layer names
const SCROLLBAR = 10
const GROUPS = /** @type {const} */ ({ encoder: 'Encoder', decoder: 'Decoder', cross: 'Cross' })

/** @param {HTMLElement} el @param {On} on */
export const mount = (el, on) => new Heads(el, on)

class Heads {
  /** @type {Data|null} */ #data = null
  /** @type {Line[]} */ #lines = []
  /** @type {HTMLElement|null} */ #chosen = null
  /** @type {Group|null} the stack that is listed */ #group = null
  #side = 0

  /** @param {HTMLElement} el @param {On} on */
  constructor(el, on) {
    this.on = on
    this.grid = h('div', { class: 'heads-grid', role: 'grid', 'aria-label': 'Heads, layers down, heads across', 'aria-readonly': 'true' })
    this.scroll = h('div', { class: 'scroll' }, this.grid)
    const keys = ['↑', '↓', '←', '→', 'Enter'].flatMap((key) => [h('kbd', {}, key), ' '])
    this.keys = h('div', { class: 'end keys', 'aria-hidden': 'true' }, ...keys)
    this.stacks = h('div', { class: 'end', hidden: true })
    /** @type {ReturnType<typeof mountSeg<Group>>|null} */ this.seg = null
    this.about = h('span', { class: 'faint small' })
    this.legend = mountLegend((name) => this.#bringOut(name))
    put(el, h('div', { class: 'sec' }, h('h2', {}, 'Heads'), this.about, this.keys, this.stacks), this.scroll, this.legend.el)
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
    const group = groupAt(data.at)
    const [other, renamed] = [before?.thumbnails !== data.thumbnails, before?.named !== data.named]
    if (other || renamed) this.#offer(data)
    if (other || group !== this.#group) this.#build(data, group)
    else if (renamed) this.#rename(data.result)
    else if (before?.map !== data.map) this.#repaint()
    if (group) this.seg?.update(group)
    if (data.more) this.legend.aim(data.more)
    this.#choose(data)
  }

  clear() {
    this.#data = null
    this.#lines = []
    put(this.grid)
    this.legend.update([], null)
  }

  /** What is known of the heads came after their pictures: those stay. @param {Result} result */
  #rename(result) {
    for (const { row, cells } of this.#lines) {
      if (row.kind !== 'site') continue
      cells.forEach((cell, head) => {
        const now = this.#cell(row.site, head, result)
        for (const name of ['aria-label', 'title']) attr(cell, name, now.getAttribute(name))
        if (now.lastElementChild) cell.lastElementChild?.replaceWith(now.lastElementChild)
      })
    }
  }

  /** Heads of other classes step back. @param {string} name "" for none */
  #bringOut(name) {
    const called = this.#data?.named?.called
    for (const { row, cells } of this.#lines) {
      if (row.kind !== 'site') continue
      cells.forEach((cell, head) => {
        const names = called?.get(`${row.site.site}.${head}`)?.names ?? []
        cell.classList.toggle('back', name !== '' && !(name === 'none' ? !names.length : names.includes(name)))
      })
    }
  }

  /** The classes, and the choice between the stacks, where there are several. @param {Data} data */
  #offer({ result, named, more }) {
    this.legend.update(named?.legend ?? [], more ?? null)
    const groups = groupsOf(result)
    this.stacks.hidden = groups.length < 2
    this.keys.hidden = groups.length > 1
    put(this.about, named ? 'by row · class and its score' : `by row · ${groups.length > 1 ? '' : 'mean '}entropy, nats`)
    this.seg = groups.length < 2 ? null : mountSeg('Which attention', groups.map((value) => ({ value, text: GROUPS[value] })), this.on.group)
    put(this.stacks, this.seg?.el)
  }

  /** @param {Data} data @param {Group|null} group */
  #build(data, group) {
    this.seen.disconnect()
    this.#group = group
    const { result } = data
    const listed = rows(result, group)
    const most = Math.max(1, ...listed.map((row) => (row.kind === 'site' ? row.site.heads : 1)))
    const top = h('div', { role: 'row', class: 'names' }, h('span', { role: 'columnheader' }, h('span', { class: 'sr' }, 'Layer')), ...Array.from({ length: most }, (_, head) => h('span', { role: 'columnheader' }, `H${head}`)))
    this.#lines = listed.map((row, at) => this.#line(row, at, most))
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
    const verdict = site.certificate[head]?.verdict
    const [refused, left] = [verdict === 'refused', verdict === 'not kept']
    const entropy = site.entropy[head]
    const text = refused ? 'refused' : left ? 'not kept' : entropy !== null && Number.isFinite(entropy) ? two(entropy) : '–'
    const drawn = !refused && !left && (!site.not_drawn || Math.max(...site.picture) > 1)
    const called = refused || left ? undefined : this.#data?.named?.called.get(`${site.site}.${head}`)
    const said = refused ? 'refused, not drawn' : left ? 'not kept' : `mean entropy ${text} nats${drawn ? '' : ', weights not kept'}`
    const shared = sharing(site, head)
    const picture = refused
      ? s('svg', { class: 'cross', viewBox: '0 0 10 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, s('path', { d: 'M0 0 10 10M10 0 0 10' }))
      : drawn ? h('div', { class: 'pic' }, h('canvas', { 'aria-hidden': 'true' })) : h('div', { class: 'pic none hatch', 'aria-hidden': 'true' })
    const words = called ? `${called.words}; ${said}` : said
    return h('div', { class: refused ? 'hd refused' : shared && head % shared.heads.length === 0 && head > 0 ? 'hd group' : 'hd', role: 'gridcell', tabindex: '-1', 'aria-selected': 'false', 'data-head': head, 'aria-label': `${longName(site, result)} head ${head}, ${words}`, title: called && words },
      picture, called ? h('span', { class: 'called' }, glyph(called.glyph), called.number) : h('span', {}, text))
  }

  /** @param {Data} data */
  #resize({ thumbnails, result }) {
    if (!result.sites.length) return
    const most = Number(this.grid.dataset.most)
    const side = thumbnailSide({ width: this.scroll.clientWidth - NAMES - SCROLLBAR, columns: most, cells: Math.max(thumbnails.shape[1], thumbnails.shape[2]), ratio: devicePixelRatio })
    if (side === this.#side) return
    this.#side = side
    const spare = (this.scroll.clientWidth - NAMES - SCROLLBAR - most * side) / most
    css(this.grid, { '--side': side, '--gap': Math.max(GAP, Math.min(12, spare)) })
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
    const { site, first } = line.row
    const [, down, stride] = thumbnails.shape
    const [rows, columns] = site.picture
    const side = (/** @type {number} */ cells) => Math.max(4, (this.#side * cells) / Math.max(rows, columns)) // in true proportion
    const box = { width: side(columns), height: side(rows) }
    const size = { width: Math.max(1, Math.round(box.width * devicePixelRatio)), height: Math.max(1, Math.round(box.height * devicePixelRatio)) }
    line.cells.forEach((cell, head) => {
      const canvas = cell.querySelector('canvas')
      if (!canvas) return
      const from = (first + head) * down * stride
      const pixels = paintThumbnail(thumbnails.values.subarray(from, from + down * stride), { rows, columns, stride }, size, map.pixels)
      Object.assign(canvas, size)
      css(canvas, box)
      canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), size.width, size.height), 0, 0)
    })
  }

  /** @param {Data} data */
  #choose({ at, head }) {
    const line = this.#lines.find(({ row }) => (row.kind === 'site' ? row.site === at : row.missing === at))
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

/** @param {Site|Missing|null} at @returns {Group|null} */
function groupAt(at) {
  if (!at) return null
  return 'heads' in at ? groupOf(at) : groupOfMissing(at)
}
