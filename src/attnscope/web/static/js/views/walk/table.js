// The walk's table: head, the query's row, a row a key, the totals, and all queries below.

import { attr, css, h, put } from '../../dom.js'
import { mountBandHead, mountBandRow } from './band.js'
import { glide, settle } from './glide.js'
import { arrange } from './layout.js'
import { refKey } from './model.js'
import { mountAsking, mountKey, mountTotals, row } from './rows.js'
import { fitSums } from './sum.js'

/** @typedef {import("./model.js").Model} Model @typedef {import("./layout.js").Arrangement} Arrangement @typedef {import("./layout.js").Fit} Fit @typedef {import("../../pure/colour.js").ColourMap} ColourMap */
/** @typedef {import("./vectorfield.js").OnVector & {go: (step: number) => void, choose: (query: number) => void, arranged: (fit: Fit) => void}} OnTable */

const HINTS = ['q, k, v', 'q · k', '÷ √d', 'j ≤ i', 'exp, ÷ sum', 'Σ weight × v']

/** @param {OnTable} on */
export const mountTable = (on) => new Table(on)

class Table {
  /** @type {Model|null} */ #model = null
  /** @type {ColourMap|null} */ #map = null
  /** @type {{update: (model: Model, map: ColourMap, fit: Fit) => void}[]} */ #rows = []
  /** @type {import("./sum.js").Sum[]} */ #sums = []
  #built = ''
  /** @type {Fit} */ #fit = 'wide'

  /** @param {OnTable} on */
  constructor(on) {
    this.on = on
    this.el = h('div', { class: 'walk', role: 'table', 'aria-label': 'The walk of one query' })
    new ResizeObserver(() => this.#draw()).observe(this.el)
  }

  /** @param {Model} model @param {ColourMap} map */
  update(model, map) {
    const before = this.#model
    const { n, d } = model.values
    if (this.#built !== `${n} ${d}`) this.#build(model, n, d)
    this.#built = `${n} ${d}`
    this.#model = model
    this.#map = map
    this.el.querySelectorAll('.sh').forEach((head, stage) => {
      head.classList.toggle('on', stage === model.stage)
      attr(head.querySelector('button') ?? head, 'aria-current', stage === model.stage ? 'step' : null)
    })
    this.#draw()
    settle()
    if (before && model.sheet === before.sheet && model.query === before.query && model.at === before.at + 1) this.#move(model)
  }

  /** @param {Model} model @param {number} n @param {number} d */
  #build(model, n, d) {
    const head = row(h('div', { class: 'k', role: 'columnheader' }, h('span', { class: 'sr' }, 'word')), ...model.recipe.stages.map(({ title }, stage) => {
      const button = h('button', { type: 'button', onclick: () => this.#model && this.on.go(this.#model.ends[stage]) }, h('span', { class: 'n-of' }, String(stage + 1)), h('b', {}, title), h('span', { class: 'f' }, HINTS[stage]))
      return h('div', { class: `sh s${stage}`, role: 'columnheader' }, button)
    }))
    const asking = mountAsking(d, this.on)
    const keys = Array.from({ length: n }, (_, j) => mountKey(j, d, this.on))
    const totals = mountTotals(d)
    const bandHead = mountBandHead(n, model.recipe.stages.map(({ title }) => title))
    const band = Array.from({ length: n }, (_, i) => mountBandRow(i, n, d, this.on))
    this.#sums = keys.flatMap((one) => one.sums)
    this.#rows = [asking, ...keys, totals, bandHead, ...band]
    put(this.el, head, asking.el, ...keys.map((one) => one.el), totals.el, bandHead.el, ...band.map((one) => one.el))
    this.el.classList.toggle('deep', d > 2)
    this.el.classList.toggle('many', n > 4)
  }

  /** Writes all numbers as the room allows. */
  #draw() {
    if (!this.#model || !this.#map) return
    if (this.el.clientWidth) this.#arrange(this.#model)
    for (const one of this.#rows) one.update(this.#model, this.#map, this.#fit)
    fitSums(this.#sums)
  }

  /** @param {Model} model */
  #arrange({ values: { n, d }, words, stage }) {
    const found = arrange({ width: this.el.clientWidth, n, d, longest: Math.max(...words.map((word) => [...word].length)), stage })
    attr(this.el, 'data-fit', found.fit)
    this.el.classList.toggle('narrow-band', !found.band)
    css(this.el, { '--columns': found.columns })
    this.el.querySelectorAll('.row > :not(.k)').forEach((el) => el.classList.toggle('at', el.classList.contains(`s${stage}`)))
    this.#fit = found.fit
    this.on.arranged(found.fit)
  }

  /** What the step made glides in from what it needed. @param {Model} model */
  #move(model) {
    const of = (/** @type {string} */ key) => /** @type {HTMLElement[]} */ ([...this.el.querySelectorAll(`[data-ref="${key}"]`)]).find((el) => !el.closest('.mat')) ?? null
    const seen = new Set()
    for (const ref of model.step.results) {
      const result = of(refKey(ref))
      const moved = result?.closest('.vec') ?? result
      if (!(moved instanceof HTMLElement) || moved.matches('input') || seen.has(moved)) continue
      seen.add(moved)
      const last = model.step.operands.map((one) => of(refKey(one))).filter((el) => el !== null).pop() ?? null
      glide(moved, last?.closest('.vec') instanceof HTMLElement ? /** @type {HTMLElement} */ (last.closest('.vec')) : last)
    }
  }
}
