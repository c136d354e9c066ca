// The measurement on the reader's machine: a budget, a button, progress with Cancel, then tables and curves. Without a server, a sentence.

import * as api from '../../api.js'
import { h, put, say } from '../../dom.js'
import { createJob } from '../../job.js'
import { mountCurve } from '../../kit/curve.js'
import { count, fixed, small } from '../../pure/number.js'
import { seconds, size } from '../../pure/size.js'
import { card } from '../card.js'
import { mountSeg } from '../seg.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */
/**
 * One way at one length, as measured, left out, or failed.
 * @typedef {{way: string, tokens: number, stated: number, state: "measured"|"skipped"|"failed", reason: string, seconds: number|null, repeats: number,
 *   peak: number|null, difference: number|null}} Row
 * What a measurement tells: the rows so far, and once it is done how it was made.
 * @typedef {import("../../types.js").Progress & {rows: Row[], result: {threads: number, torch: string, machine: string, baseline: number, window: number, attention_takes: string}|null}} Measured
 */

const BUDGETS = ['64', '256', '1024']
const LONGEST = ['4096', '8192', '16384', '32768']
const STARTING = { step: 'Starting', done: 0, total: 1, seconds_left: null }
const STOPPED = { title: 'Cancelled', message: 'What was measured before stays.' }
const OPENS = { budget: '256', longest: '8192' }
const MB = 2 ** 20
/** @type {{way: string, name: string, tone: 0|1|2|3}[]} */
const WAYS = [
  { way: 'dense', name: 'whole grid', tone: 0 },
  { way: 'tiles', name: 'our tiles', tone: 1 },
  { way: 'sdpa', name: 'PyTorch', tone: 2 },
  { way: 'window', name: 'window', tone: 3 },
]

/** @param {HTMLElement} el @param {On} on */
export function mountMeasure(el, on) {
  if (!on.live) {
    put(el, h('div', { class: 'note offline' }, 'This file has no program behind it that could measure. On a machine with attnscope, ', h('code', {}, 'attnscope lesson 7 --measure'), ' measures and prints the same table.'))
    return { update() {}, destroy() {} }
  }
  return new Measure(el, on)
}

class Measure {
  #wish = { ...OPENS }
  #drawn = 0 // rows on the page

  /** @param {HTMLElement} el @param {On} on */
  constructor(el, on) {
    this.on = on
    this.job = createJob(() => this.#changed())
    const choice = (/** @type {"budget"|"longest"} */ name, /** @type {string} */ label, /** @type {string[]} */ values, /** @type {string} */ unit) =>
      mountSeg(label, values.map((value) => ({ value, text: `${count(Number(value))}${unit}` })), (value) => on.change({ [name]: value === OPENS[name] ? null : value }, name))
    this.budget = choice('budget', 'Budget', BUDGETS, ' MB')
    this.longest = choice('longest', 'Longest', LONGEST, '')
    this.button = h('button', { class: 'btn main', type: 'button', onclick: () => this.#start() }, 'Measure on this machine')
    this.promise = h('div', { class: 'caption' })
    this.bar = h('i', {})
    this.meter = h('div', { class: 'prog', role: 'progressbar', 'aria-label': 'Measured', 'aria-valuemin': 0, 'aria-valuemax': 100 }, this.bar)
    this.step = h('span', {})
    this.left = h('span', { class: 'faint' })
    this.stop = h('button', { class: 'btn', type: 'button', onclick: () => this.job.cancel() }, 'Cancel')
    this.progress = h('div', { class: 'measure-progress', hidden: true })
    this.found = h('div', { class: 'measure-found', hidden: true })
    this.curves = {
      seconds: mountCurve({ label: 'Seconds by length', x: { label: 'tokens', log: 2, format: count, tick: count }, y: { label: 'seconds', log: 10, format: seconds }, height: 240 }),
      peak: mountCurve({ label: 'Peak memory by length, MB', x: { label: 'tokens', log: 2, format: count, tick: count }, y: { label: 'peak memory, MB', log: 10, format: (y) => fixed(y, 1) }, height: 240 }),
    }
    put(el,
      h('div', { class: 'controls' }, h('span', { class: 'grp' }, 'Memory at most', this.budget.el), h('span', { class: 'grp' }, 'Up to', this.longest.el, 'tokens'), this.button),
      this.promise, this.progress, this.found)
  }

  /** @param {Parameters} state */
  update(state) {
    const known = (/** @type {string[]} */ values, /** @type {string|undefined} */ wanted, /** @type {string} */ otherwise) => (wanted && values.includes(wanted) ? wanted : otherwise)
    this.#wish = { budget: known(BUDGETS, state.budget, OPENS.budget), longest: known(LONGEST, state.longest, OPENS.longest) }
    this.budget.update(this.#wish.budget)
    this.longest.update(this.#wish.longest)
    say(this.promise, `Takes at most ${count(Number(this.#wish.budget))} MB beside Python and PyTorch themselves, counted before anything runs: a length at which a way would need more is left out of that way.`)
  }

  destroy() {
    this.job.leave()
  }

  #start() {
    const { budget, longest } = this.#wish
    this.#drawn = 0
    this.job.start({
      key: `${budget} ${longest}`,
      ask: () => api.measure(Number(budget), Number(longest)),
      look: api.measured,
      stop: api.stopMeasuring,
      take: async (_, last) => /** @type {Measured} */ (last),
      ended: (found) => found && this.#done(found),
      stopped: STOPPED,
      goesOn: true,
    })
    this.stop.focus()
  }

  #changed() {
    const { busy, problem } = this.job.now
    const told = /** @type {Measured|null} */ (this.job.now.progress)
    this.button.disabled = busy
    if (told && told.rows.length > this.#drawn) this.#draw(told)
    if (busy) this.#wait(told ?? STARTING)
    else if (problem) this.#refused(problem)
  }

  /** @param {Pick<Measured, "step"|"done"|"total"|"seconds_left">} job */
  #wait({ step, done, total, seconds_left }) {
    const share = total > 0 ? Math.min(1, done / total) : 0
    this.meter.setAttribute('aria-valuenow', String(Math.round(100 * share)))
    this.bar.style.width = `${100 * share}%`
    say(this.step, step)
    say(this.left, seconds_left === null ? '' : `about ${count(Math.max(1, Math.ceil(seconds_left)))} s left`)
    if (!this.progress.contains(this.meter)) put(this.progress, this.meter, h('div', { class: 'controls' }, this.step, this.left, h('span', { class: 'end' }, this.stop)))
    this.progress.hidden = false
  }

  /** @param {Measured} found */
  #done(found) {
    this.#draw(found)
    const skipped = found.rows.filter((row) => row.state === 'skipped').length
    const measured = found.rows.filter((row) => row.state === 'measured').length
    this.#close(`Measured: ${count(measured)} of ${count(measured + skipped)}; ${count(skipped)} would have passed the budget.`)
  }

  /** @param {api.ApiError} problem */
  #refused({ title, message, hint, status }) {
    if (status === api.CALM) return this.#close(`${title}. ${message}`)
    this.#close(`${title}. ${message}`, card({ title, text: message, hint, bad: true }))
  }

  /** Puts a last word in the place of the progress; the focus goes on to the button if Cancel had it, and stays where it is if not. @param {string} said @param {HTMLElement} word */
  #close(said, word = h('div', { class: 'note' }, said)) {
    const held = this.progress.contains(document.activeElement)
    this.button.disabled = false
    this.progress.hidden = false
    put(this.progress, word)
    if (held) this.button.focus()
    this.on.say(said)
  }

  /** @param {Measured} found */
  #draw({ rows, result }) {
    const window = result ? ` ${count(result.window)}` : ''
    const named = WAYS.map((way) => ({ ...way, name: way.way === 'window' ? `${way.name}${window}` : way.name }))
    const series = (/** @type {(row: Row) => number|null} */ y) => named.map(({ way, name, tone }) => ({
      name, tone, dots: true,
      points: rows.filter((row) => row.way === way && y(row) !== null).map((row) => /** @type {[number, number]} */ ([row.tokens, y(row)])),
    }))
    const timed = tableOf('Seconds, median', rows, named, (row) => (row.seconds === null ? '–' : seconds(row.seconds)))
    const held = tableOf('Peak memory past the inputs', rows, named, (row) => (row.peak === null ? '–' : size(row.peak)))
    put(this.found, h('div', { class: 'two' }, h('div', {}, this.curves.seconds.el, timed), h('div', {}, this.curves.peak.el, held)), ...notes(rows, result))
    this.found.hidden = false
    this.#drawn = rows.length
    this.curves.seconds.update({ series: series((row) => row.seconds) })
    this.curves.peak.update({ series: series((row) => (row.peak === null ? null : Math.max(row.peak, 1) / MB)) })
  }
}

/** @param {string} caption @param {Row[]} rows @param {{way: string, name: string}[]} named @param {(row: Row) => string} cell */
function tableOf(caption, rows, named, cell) {
  const lengths = [...new Set(rows.map((row) => row.tokens))]
  const words = { measured: cell, skipped: () => 'not run', failed: () => 'failed' }
  return h('table', { class: 'nums measure-nums' }, h('caption', {}, caption),
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'tokens'), ...named.map(({ name }) => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, ...lengths.map((tokens) => h('tr', {}, h('th', { scope: 'row' }, count(tokens)), ...named.map(({ way }) => {
      const row = rows.find((one) => one.way === way && one.tokens === tokens)
      return h('td', { title: row?.reason || null, class: row?.state === 'measured' ? '' : 'faint' }, row ? words[row.state](row) : '–')
    })))))
}

/** @param {Row[]} rows @param {Measured["result"]} result */
function notes(rows, result) {
  const said = []
  const apart = rows.flatMap((row) => (row.difference === null ? [] : [row.difference]))
  if (apart.length) said.push(`The outputs agree: grid and tiles differ from PyTorch’s by ${small(Math.max(...apart))} at most. The window’s output is another, so it is not compared.`)
  const first = WAYS.flatMap(({ way }) => rows.find((row) => row.way === way && row.state === 'skipped') ?? [])
  for (const row of first) said.push(`From ${count(row.tokens)} tokens on, ${WAYS.find(({ way }) => way === row.way)?.name} was not run: it would take ${size(row.stated)}, past the budget.`)
  for (const row of rows) if (row.state === 'failed') said.push(`${row.reason}.`)
  if (result) {
    const kernel = result.attention_takes === 'sdpa' ? 'PyTorch’s kernel' : 'our tiles'
    said.push(`One head, d = 64, float32, ${result.threads === 1 ? '1 thread' : `${result.threads} threads`}, torch ${result.torch}, ${result.machine}. Each process held ${size(result.baseline)} before: Python and PyTorch. attnscope.attention takes ${kernel} for these calls.`)
  }
  return said.map((sentence) => h('div', { class: 'caption' }, sentence))
}
