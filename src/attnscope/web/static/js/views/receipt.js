// The arithmetic of the chosen cell as a receipt: terms, score, weight, value mix.

import { h, icon, put, s } from '../dom.js'
import { byTerm, sections, verdict } from '../pure/receipt.js'
import { count, four } from '../pure/number.js'
import { wordCell } from './wordcell.js'

/** @typedef {import("../types.js").Cell} Cell @typedef {import("../pure/receipt.js").Section} Section @typedef {import("../pure/receipt.js").Line} Line */
/** @typedef {{cell: Cell, query: string, key: string}} Data */

const WIDTH = 332
const [BASE, TALL] = [30, 46] // px of the zero line and of the whole chart

/** @param {HTMLElement} el */
export const mount = (el) => new Receipt(el)

class Receipt {
  /** @type {Data|null} */ #data = null
  #all = false
  /** @type {Set<string>} */ #folded = new Set()

  /** @param {HTMLElement} el */
  constructor(el) {
    this.who = h('span', { class: 'small dim who' })
    this.fold = h('button', { class: 'btn quiet small', type: 'button', onclick: () => this.#foldAll() }, 'Fold all')
    this.body = h('div', { class: 'rcpt' })
    put(el, h('div', { class: 'sec' }, h('h2', {}, 'Cell'), this.who, h('div', { class: 'end' }, this.fold)), this.body)
  }

  destroy() {}

  clear() {
    this.#data = null
    this.fold.hidden = true
    put(this.who)
    put(this.body)
  }

  /** @param {Data} data */
  update(data) {
    if (this.#data?.cell === data.cell) return
    this.#data = data
    this.#draw()
  }

  /** The token weights of which one between words is made. @param {import("../types.js").WordCell} cell @param {{query: import("../types.js").Token, key: import("../types.js").Token}} words */
  words(cell, words) {
    this.#data = null
    this.fold.hidden = true
    put(this.who, count(cell.i), ' → ', count(cell.j))
    put(this.body, ...wordCell(cell, words))
  }

  #draw() {
    if (!this.#data) return
    const { cell, query, key } = this.#data
    this.fold.hidden = false
    const named = (/** @type {number} */ at, /** @type {string} */ word) => [count(at), word && ' ', word && h('code', { dir: 'auto' }, word)]
    put(this.who, ...named(cell.i, query), ' → ', ...named(cell.j, key))
    const { ok, text } = verdict(cell)
    const mark = ok ? icon('m2.500 7.500 3 3 6-7') : icon('M7 1.5 13 12.500H1zM7 5.500v3M7 10.600v.1')
    put(this.body, ...sections(cell, this.#all).map((section) => this.#section(section, cell)),
      cell.sink ? h('p', { class: 'ok' }, `${four(cell.sink)} of this row goes to a learned sink, which has no token. The weights are not rescaled.`) : null,
      h('div', { class: ok ? 'ok' : 'ok bad' }, mark, h('span', {}, text)))
    this.#nameFold()
  }

  /** @param {Section} section @param {Cell} cell */
  #section(section, cell) {
    const folded = this.#folded.has(section.id)
    const lines = section.lines.map((line) => (line.kind === 'more' ? this.#more(line) : lineOf(line)))
    const head = h('summary', {}, h('span', {}, section.title), h('span', { class: 'aside' }, section.aside), h('span', { class: 'result' }, section.result))
    const details = h('details', { class: section.id, open: !folded }, head, section.id === 'product' ? chart(cell) : null, ...lines)
    details.addEventListener('toggle', () => {
      if (details.open) this.#folded.delete(section.id)
      else this.#folded.add(section.id)
      this.#nameFold()
    })
    return details
  }

  /** @param {Line} line */
  #more(line) {
    const show = () => {
      this.#all = true
      this.#draw()
      this.fold.focus()
    }
    return h('div', { class: 'ln' }, h('span', {}, line.label), h('span', { class: 'how' }, h('button', { class: 'btn quiet tiny', type: 'button', onclick: show }, 'show ▾')), h('span', {}, line.value))
  }

  #foldAll() {
    const names = ['product', 'score', 'weight', 'value']
    const fold = this.#folded.size < names.length
    this.#folded = new Set(fold ? names : [])
    this.#all = false
    this.#draw()
  }

  #nameFold() {
    put(this.fold, this.#folded.size < 4 ? 'Fold all' : 'Unfold all')
  }
}

/** @param {Line} line */
function lineOf({ label, how, value, kind }) {
  return h('div', { class: kind ? `ln ${kind}` : 'ln' }, h('span', {}, label), h('span', { class: 'how' }, how), h('span', {}, value))
}

/** The terms of q · k in order of dimension; the four largest are dark. @param {Cell} cell */
function chart({ terms, q, k }) {
  const most = Math.max(...terms.map(Math.abs), 1e-30)
  const largest = new Set(byTerm(terms).slice(0, 4))
  const step = WIDTH / terms.length
  const up = Math.max(...terms, 0) / most
  const down = Math.max(...terms.map((term) => -term), 0) / most
  const unit = Math.min(up ? (BASE - 2) / up : Infinity, down ? (TALL - BASE - 1) / down : Infinity, TALL - 2)
  const bars = terms.map((term, d) => {
    const tall = Math.max(0.75, (Math.abs(term) / most) * unit)
    const rect = { x: d * step, y: term < 0 ? BASE : BASE - tall, width: step - Math.min(3, step / 3), height: tall, class: largest.has(d) ? 'large' : '' }
    return s('rect', rect, s('title', {}, `d = ${d}: ${four(q[d])} × ${four(k[d])} = ${four(term)}`))
  })
  return s('svg', { class: 'terms', viewBox: `0 0 ${WIDTH} ${TALL}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `The ${terms.length} terms of q dot k` },
    s('path', { d: `M0 ${BASE + 0.5}H${WIDTH}` }), ...bars)
}
