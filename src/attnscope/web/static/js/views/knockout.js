// Does it matter? One click runs the model without the chosen weight or head; what it expects next stands before and after.

import * as api from '../api.js'
import { h, put } from '../dom.js'
import { createJob } from '../job.js'
import { spoken } from '../pure/marks.js'
import { count, fixed, four, weight } from '../pure/number.js'
import { movedWords, rowsOf } from '../pure/knockout.js'
import { progressText } from './card.js'
import { chip } from './chip.js'

/** @typedef {import("../types.js").Site} Site @typedef {import("../types.js").Knocked} Knocked @typedef {"renormalise"|"zero"|"mean"} How */
/** after: the position after which is told what is expected, null for the one that tells most. @typedef {{run: string, site: Site, head: number, i: number|null, j: number|null, after: number|null, whyNot: string|null|undefined}} Data */

const WAYS = [
  { value: 'renormalise', text: 'the row’s other weights share its part' },
  { value: 'zero', text: 'nothing; the other weights stay' },
  { value: 'mean', text: 'the mean output, of a head' },
]
const STOPPED = { title: 'Cancelled', message: 'Nothing was taken out.' }

/** @param {HTMLElement} el @param {(told: Knocked|null) => void} on what was told, or that nothing is any more */
export const mount = (el, on) => new KnockOut(el, on)

class KnockOut {
  /** @type {Data|null} */ #data = null
  /** @type {{run: string, id: string}|null} the last one that is done */ #done = null
  /** @type {string} */ #shown = ''
  /** @type {Knocked|null} what the page was told last */ #told = null

  /** @param {HTMLElement} el @param {(told: Knocked|null) => void} on */
  constructor(el, on) {
    this.on = on
    this.el = el
    this.job = createJob(() => this.#changed())
    this.cell = h('button', { class: 'btn small', type: 'button', onclick: () => this.#ask(true) }, 'Without weight')
    this.head = h('button', { class: 'btn small', type: 'button', onclick: () => this.#ask(false) }, 'Without head')
    this.ways = h('select', { class: 'field small', 'aria-label': 'What stands in its place', onchange: () => this.#forget() }, ...WAYS.map(({ value, text }) => h('option', { value }, text)))
    this.said = h('div', { class: 'told', 'aria-live': 'polite' })
    el.classList.add('knock')
    put(el, h('div', { class: 'ask' }, h('h2', {}, 'Does it matter?'), this.cell, this.head), h('div', { class: 'way small dim' }, 'In its place: ', this.ways), this.said)
  }

  destroy() {
    this.job.leave()
  }

  clear() {
    this.#data = null
    this.#forget()
    this.el.hidden = true
  }

  /** @param {Data} data */
  update(data) {
    const before = this.#data
    this.#data = data
    this.el.hidden = false
    const able = data.whyNot === null
    this.cell.disabled = !able || data.i === null || data.j === null
    this.head.disabled = !able
    this.ways.disabled = !able
    for (const button of [this.cell, this.head]) button.title = data.whyNot ?? ''
    if (before && same(before, data)) {
      if (before.after !== data.after && this.#done) this.#tell(this.#done)
      if (before.whyNot === data.whyNot) return
    } else this.#forget()
    if (data.whyNot) put(this.said, h('p', { class: 'dim small' }, data.whyNot))
  }

  #forget() {
    this.job.leave()
    this.#done = null
    this.#shown = ''
    put(this.said)
    this.#hand(null)
  }

  /** The page draws anew at each word from here: what it knows already is not said again. @param {Knocked|null} told */
  #hand(told) {
    if (told === this.#told) return
    this.#told = told
    this.on(told)
  }

  /** @param {boolean} cell the one weight, else the whole head */
  #ask(cell) {
    const data = this.#data
    if (!data) return
    this.#forget()
    const { run, site, head } = data
    const how = /** @type {How} */ (this.ways.value)
    const wanted = { site: site.site, head, i: cell ? data.i : null, j: cell ? data.j : null, how }
    this.job.start({
      key: JSON.stringify([run, wanted]),
      ask: () => api.knockout(run, wanted),
      look: (id) => api.knockoutState(run, id),
      stop: (id) => api.stopKnockout(run, id),
      take: async (id) => ({ run, id }),
      ended: (done) => done && this.#tell((this.#done = done)),
      stopped: STOPPED,
    })
  }

  #changed() {
    const { busy, progress, problem } = this.job.now
    if (problem) this.#refuse(problem)
    else if (busy) this.#say(progress ? progressText(progress) : 'Asking', progress && (() => this.#forget()))
  }

  /** @param {string} text @param {(() => void)|null} cancel */
  #say(text, cancel) {
    if (this.#shown === text) return
    this.#shown = text
    put(this.said, h('p', { class: 'small dim' }, text, ' ', cancel && h('button', { class: 'btn quiet tiny', type: 'button', onclick: cancel }, 'Cancel')))
  }

  /** @param {api.ApiError} problem */
  #refuse(problem) {
    this.#done = null
    this.#shown = 'refused'
    this.#hand(null)
    put(this.said, h('p', { class: 'small bad', role: 'alert' }, `${problem.title}. `, problem.message, problem.hint && ` ${problem.hint}.`))
  }

  /** @param {{run: string, id: string}} done */
  async #tell(done) {
    const after = this.#data?.after ?? null
    const stale = () => done !== this.#done || this.#data?.after !== after
    try {
      const told = await api.knocked(done.run, done.id, after)
      if (stale()) return
      this.#shown = 'told'
      put(this.said, ...contents(told))
      this.said.scrollIntoView({ block: 'nearest' })
      this.#hand(told)
    } catch (error) {
      if (!stale()) this.#refuse(api.asProblem(error))
    }
  }
}

/** @param {Knocked} told */
function contents(told) {
  const rows = rowsOf(told.next).map(({ token, before, after }) =>
    h('tr', {}, h('td', {}, chip(token), h('span', { class: 'sr' }, spoken(token))), h('td', {}, weight(before)), h('td', {}, weight(after)), h('td', { class: after < before ? 'less' : 'more' }, signed(after - before))))
  const table = rows.length && h('table', { class: 'num small' }, h('tr', {}, ...[`after ${count(told.next.position)}`, 'before', 'without', 'change'].map((name) => h('th', { scope: 'col' }, name))), ...rows)
  return [
    h('p', { class: 'small' }, ...told.taken_out.map(({ weight: lost }) => (lost === null ? 'The head is out. ' : `The weight ${four(lost)} is out. `)), movedWords(told)),
    table || null,
    h('p', { class: 'small dim' }, told.nothing.bit_equal ? 'Checked: with nothing taken out the answer is the model’s own, bit for bit.' : `With nothing taken out the answer differs by up to ${fixed(told.nothing.largest, 6)}: smaller changes mean nothing.`),
    h('p', { class: 'small dim' }, told.warning),
  ]
}

/** @param {number} x */
const signed = (x) => (x > 0 ? '+' : '') + fixed(x, 3)

/** @param {Data} a @param {Data} b */
const same = (a, b) => a.run === b.run && a.site === b.site && a.head === b.head && a.i === b.i && a.j === b.j
