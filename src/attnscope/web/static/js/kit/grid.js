// A small grid of numbers as a picture with words along both sides: every cell has its number on it or one hover away, and arrow keys walk through it.

import { attr, css, h, put, say } from '../dom.js'
import { moveInGrid } from '../pure/keyboard.js'
import { tipPlace } from '../pure/layout.js'
import { count, number, weight, weight7 } from '../pure/number.js'

/** @typedef {import("../pure/colour.js").ColourMap} ColourMap @typedef {{i: number, j: number}} Place */
/**
 * What a row, a column and a number are called aloud and in the tooltip; where each is left out, query, key and weight.
 * @typedef {{row?: string, column?: string, value?: string}} Names
 */
/**
 * values: rows of numbers, -inf and the like as words; visible: where a cell is not, it is hatched and holds no number; range: what
 * the ends of the map stand for; written: numbers on the cells, by default up to 10 columns; rows and columns: other words than before.
 * @typedef {{values: (number|string)[][], visible?: boolean[][]|null, map: ColourMap, range?: [number, number], written?: boolean,
 *   chosen?: Place|null, format?: (x: number) => string, rows?: string[], columns?: string[]}} GridData
 */

const WRITTEN = { columns: 10, cell: 26 } // most columns and least px of a cell that holds its number
const LETTER = 7.3 // px of a letter of 12 px in the mono face
const HEAD = { room: 12, least: 26, most: 104 } // px of the words on the left
const NARROW = 340 // px of cells on a phone
const CLOSE = 16 // from here on no line of page between cells

/**
 * @param {{label: string, rows: string[], columns: string[], cell?: number, tall?: number, every?: number, names?: Names, on?: {choose: (i: number, j: number) => void}}} opts cell: px of its side where there is room; tall: least px of its height;
 *   every: only each such word is written along the top
 * @returns {{el: HTMLElement, update: (data: GridData) => void}}
 */
export const mountGrid = (opts) => new Grid(opts)

class Grid {
  /** @type {GridData|null} */ #data = null
  /** @type {HTMLElement[][]} */ #cells = []
  /** @type {{rows: HTMLElement[], columns: HTMLElement[]}} */ #heads = { rows: [], columns: [] }
  #stop = { i: 0, j: 0 } // the cell that Tab leads to

  /** @param {Parameters<typeof mountGrid>[0]} opts */
  constructor({ label, rows, columns, cell = 34, tall = 0, every = 1, names = {}, on }) {
    this.label = label
    this.cell = cell
    this.every = every
    this.tall = tall
    this.names = { row: 'query', column: 'key', value: 'weight', ...names }
    this.on = on
    this.words = { rows, columns }
    this.grid = h('div', { role: 'grid', 'aria-label': label, 'aria-readonly': 'true', class: on ? 'cells chooses' : 'cells' })
    this.tip = h('div', { class: 'tip', hidden: true, 'aria-hidden': 'true' })
    this.fit = h('div', { class: 'fit' }, this.grid)
    this.el = h('div', { class: 'grid' }, this.fit, this.tip)
    this.#build()
    this.#listen()
  }

  /** @param {GridData} data */
  update(data) {
    const { rows = this.words.rows, columns = this.words.columns } = data
    const words = { rows, columns }
    if (JSON.stringify(words) !== JSON.stringify(this.words)) {
      this.words = words
      this.#build()
    }
    this.#data = data
    const { written = columns.length <= WRITTEN.columns && this.cell >= WRITTEN.cell } = data
    this.grid.classList.toggle('bare', !written)
    this.#cells.forEach((line, i) => line.forEach((cell, j) => this.#fill(cell, i, j)))
    if (data.chosen) this.#goTo(data.chosen)
    this.#light('chosen', data.chosen ?? null)
    this.#hide()
  }

  #build() {
    const { rows, columns } = this.words
    const upright = longest(columns) * LETTER > Math.min(this.cell, NARROW / columns.length) * this.every
    this.grid.classList.toggle('close', columns.length >= CLOSE)
    css(this.fit, {
      '--n': String(columns.length), '--cell': this.cell, '--gap': columns.length < CLOSE ? 1 : 0, '--tall': this.tall,
      '--head': Math.min(HEAD.most, Math.max(HEAD.least, longest(rows) * LETTER + HEAD.room)),
    })
    const corner = h('span', { role: 'columnheader', class: 'corner' }, h('span', { class: 'sr' }, `${this.names.row} and ${this.names.column}`))
    const head = (/** @type {string} */ role) => (/** @type {string} */ word) => h('span', { role, class: role, title: word.length > 3 ? word : null }, h('bdi', {}, word))
    this.#heads = { rows: rows.map(head('rowheader')), columns: columns.map(head('columnheader')) }
    this.#heads.columns.forEach((el, j) => el.classList.toggle('mute', j % this.every !== 0))
    this.#cells = rows.map(() => columns.map(() => h('span', { role: 'gridcell', class: 'one', tabindex: '-1' }, h('span', {}))))
    put(this.grid, h('div', { role: 'row', class: upright ? 'top upright' : 'top' }, corner, ...this.#heads.columns),
      ...rows.map((_, i) => h('div', { role: 'row' }, this.#heads.rows[i], ...this.#cells[i])))
    this.#stop = { i: 0, j: 0 }
    this.#cells[0][0].tabIndex = 0
  }

  /** @param {HTMLElement} cell @param {number} i @param {number} j */
  #fill(cell, i, j) {
    const { map, range = [0, 1], format = weight, chosen } = /** @type {GridData} */ (this.#data)
    const x = this.#value(i, j)
    const seen = x !== null
    cell.classList.toggle('hatch', !seen)
    const t = seen ? Math.min(1, Math.max(0, (x - range[0]) / (range[1] - range[0]))) : 0
    cell.style.backgroundColor = seen ? map.css(t) : ''
    cell.style.color = seen ? `var(--cell-${map.ink(t)})` : ''
    say(/** @type {HTMLElement} */ (cell.firstChild), seen ? format(x) : '')
    attr(cell, 'aria-label', this.#sentence(i, j, seen ? `${this.names.value} ${format(x)}` : 'not visible'))
    if (this.on) attr(cell, 'aria-selected', chosen?.i === i && chosen.j === j)
  }

  /** null where not visible. @param {number} i @param {number} j */
  #value(i, j) {
    const { values, visible } = /** @type {GridData} */ (this.#data)
    return visible && !visible[i][j] ? null : number(values[i][j])
  }

  /** @param {number} i @param {number} j @param {string} amount */
  #sentence(i, j, amount) {
    const { row, column } = this.names
    return `${row} ${placed(i, this.words.rows)}, ${column} ${placed(j, this.words.columns)}, ${amount}`
  }

  /** @param {Place} to */
  #goTo(to) {
    this.#cells[this.#stop.i][this.#stop.j].tabIndex = -1
    this.#stop = { i: Math.min(to.i, this.#cells.length - 1), j: Math.min(to.j, this.#cells[0].length - 1) }
    const cell = this.#cells[this.#stop.i][this.#stop.j]
    cell.tabIndex = 0
    return cell
  }

  /** Marks the words of a row and a column, and the cell where they meet. @param {"lit"|"chosen"} how @param {Place|null} at */
  #light(how, at) {
    this.#heads.rows.forEach((el, i) => el.classList.toggle(how, at?.i === i))
    this.#heads.columns.forEach((el, j) => el.classList.toggle(how, at?.j === j))
    if (how === 'chosen') this.#cells.forEach((line, i) => line.forEach((el, j) => el.classList.toggle('at', at?.i === i && at.j === j)))
  }

  /** @param {number} i @param {number} j @param {boolean} docked */
  #show(i, j, docked) {
    if (!this.#data) return
    const x = this.#value(i, j)
    const { row, column } = this.names
    const word = (/** @type {number} */ at, /** @type {string[]} */ words) => (words[at] === String(at) ? count(at) : [`${count(at)} `, h('code', { dir: 'auto' }, words[at])])
    put(this.tip, h('div', { class: 'dim' }, this.label),
      h('b', {}, x === null ? '0' : weight7(x)), x === null ? h('span', { class: 'dim' }, ' not visible') : null,
      h('dl', {}, h('dt', {}, row), h('dd', {}, ...[word(i, this.words.rows)].flat()), h('dt', {}, column), h('dd', {}, ...[word(j, this.words.columns)].flat())))
    this.tip.hidden = false
    this.tip.classList.toggle('docked', docked)
    this.#light('lit', { i, j })
    if (docked) return css(this.tip, { left: '', top: '' })
    const [box, first, cell] = [this.el, this.#cells[0][0], this.#cells[i][j]].map((el) => el.getBoundingClientRect())
    const tip = { width: this.tip.offsetWidth, height: this.tip.offsetHeight }
    const at = tipPlace({ x: cell.left - first.left, y: cell.top - first.top, cell: cell.width, tip, plane: { width: first.width * this.words.columns.length, height: 0 } })
    const left = Math.min(Math.max(at.left + first.left, 8), document.documentElement.clientWidth - tip.width - 8)
    css(this.tip, { left: left - box.left, top: at.top + first.top - box.top })
  }

  #hide() {
    this.tip.hidden = true
    this.#light('lit', null)
  }

  /** @param {Event} event @returns {Place|null} */
  #under(event) {
    const cell = event.target instanceof Element ? event.target.closest('.one') : null
    for (let i = 0; cell && i < this.#cells.length; i++) {
      const j = this.#cells[i].findIndex((other) => other === cell)
      if (j >= 0) return { i, j }
    }
    return null
  }

  #listen() {
    const { grid } = this
    const docks = (/** @type {PointerEvent|null} */ event) => event?.pointerType === 'touch' || document.documentElement.clientWidth <= 700
    grid.addEventListener('pointerover', (event) => {
      const at = this.#under(event)
      if (at) this.#show(at.i, at.j, docks(event))
      else this.#hide()
    })
    grid.addEventListener('pointerleave', () => this.#hide())
    grid.addEventListener('focusin', (event) => {
      const at = this.#under(event)
      if (at && this.#cells[at.i][at.j].matches(':focus-visible')) this.#show(at.i, at.j, docks(null))
    })
    grid.addEventListener('focusout', () => this.#hide())
    grid.addEventListener('click', (event) => {
      const at = this.#under(event)
      if (!at) return
      this.#goTo(at).focus({ preventScroll: true })
      this.on?.choose(at.i, at.j)
    })
    grid.addEventListener('keydown', (event) => this.#press(event))
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const { i, j } = this.#stop
    if (event.key === 'Escape') return this.#hide()
    const to = moveInGrid(event, { row: i, column: j, rows: this.#cells.length, columns: this.#cells[0].length })
    if (!to) return
    event.preventDefault()
    event.stopPropagation()
    const cell = this.#goTo({ i: to.row, j: to.column })
    this.on?.choose(to.row, to.column)
    cell.focus()
    this.#show(to.row, to.column, document.documentElement.clientWidth <= 700)
  }
}

/** "5 be", or "10" where the word is the position itself. @param {number} at @param {string[]} words */
const placed = (at, words) => (words[at] === String(at) ? count(at) : `${count(at)} ${words[at]}`)

/** @param {string[]} words */
const longest = (words) => Math.max(0, ...words.map((word) => [...word].length))
