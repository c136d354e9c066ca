// The page Explore: one state, kept in the address, drawn by the views; every choice makes a new state.

import * as api from '../api.js'
import { part } from '../dom.js'
import { createLooking } from './looking.js'
import { numbersOf, wordCellOf } from '../numbers.js'
import { Page } from './page.js'
import { KEYS, shortcut } from '../pure/keyboard.js'
import { positionOf } from '../pure/knockout.js'
import { inTokens, inWords, isWords, WORDS } from '../pure/words.js'
import { predictionAt } from '../pure/sayings.js'
import { calledOf, legendOf } from '../pure/heads/classes.js'
import { carried } from '../pure/spelling.js'
import { resolve } from '../pure/selection.js'
import { address, isSite } from '../pure/sites.js'
import { format, parse } from '../pure/urlstate.js'
import { mount as mountKnockout } from '../views/knockout.js'
import { mount as mountNext } from '../views/next.js'
import { mount as mountReceipt } from '../views/receipt.js'
import { mount as mountText } from '../views/textbox.js'

/** @typedef {import("../types.js").State} State @typedef {import("../types.js").Site} Site @typedef {import("../pure/selection.js").Selection} Selection */

/** @extends {Page<State>} */
class Explore extends Page {
  lastText = ''
  /** @type {{known: unknown, result: unknown, named: import("../views/heads.js").Named|null}} what the heads of this run are called */ names = { known: null, result: null, named: null }
  /** @type {import("../types.js").Knocked|null} what a knock-out told */ without = null

  constructor() {
    super({ parse, format }, KEYS)
    const [cancel, start] = [this.cancel, this.start]
    this.start = (/** @type {string} */ model, /** @type {string} */ text) => start(model, text, this.state.words)
    this.text = mountText(part('panel-text'), { run: (model, text) => this.run(model, text), cancel })
    this.next = mountNext(part('panel-next'))
    this.looking = createLooking(this, { words: (words) => this.words(words), offer: (text) => this.run(this.state.model ?? '', text), again: () => this.again(), cancel })
    this.receipt = mountReceipt(part('panel-receipt'))
    this.knockout = mountKnockout(part('panel-knockout'), (told) => {
      this.without = told
      this.draw()
    })
  }

  /** @param {Site} site */
  ofValues(site) {
    return super.ofValues(site) && !this.state.words
  }

  result() {
    if (!this.session.run) throw new Error('nothing was run yet')
    return this.session.run.result
  }

  /** From a recording back to a model the text is that which was there, else the sample. @param {string} model @param {string} given */
  run(model, given) {
    const back = this.recorded(this.state.model ?? '')
    const text = this.recorded(model) ? null : back ? this.lastText || (this.sample?.text ?? '') : given
    this.lastText = text ?? (back ? this.lastText : (this.state.text ?? ''))
    const fresh = text !== this.state.text
    const keep = fresh ? { i: null, j: null } : {}
    const heads = model !== this.state.model ? { layer: null, site: null, head: null, i: null, j: null } : {}
    this.change({ model, text, ...keep, ...heads }, 'run')
    this.start(model, text ?? '')
  }

  /** The views speak of words where words are shown, the address of tokens. @param {Partial<State>} patch @param {string} kind */
  change(patch, kind) {
    super.change(this.session.run ? inTokens(this.state, patch, this.result()) : patch, kind)
  }

  /** @param {State} state */
  went(state) {
    const turned = state.words !== this.state.words
    super.went(state)
    if (turned) this.start(this.state.model ?? '', this.state.text ?? '')
  }

  /** @param {State["words"]} words */
  words(words) {
    if (words === this.state.words) return
    this.change({ words }, 'words')
    this.start(this.state.model ?? '', this.state.text ?? '')
  }

  /** @returns {Selection} */
  selection() {
    return resolve(inWords(this.state, this.result()), this.result())
  }

  drawNow() {
    const { session, state } = this
    this.text.update({ models: this.models, model: state.model ?? '', text: state.text ?? '', busy: session.busy, progress: session.run && this.slow() ? session.progress : null, result: session.run?.result ?? null })
    this.badge.update(session.run?.result ?? null)
    document.body.classList.toggle('blank', !session.run)
    if (session.run) this.drawRun(session.run)
    else this.drawNothing()
    document.title = session.run ? `${this.looking.picture.title()} · Explore · attnscope` : 'Explore · attnscope'
  }

  /** A run that is over before one could read about it shows no progress. */
  slow() {
    return this.session.busy && performance.now() - this.session.since > 250
  }

  drawNothing() {
    const { session, models, state } = this
    this.looking.tokens.clear()
    this.looking.heads.clear()
    this.receipt.clear()
    this.knockout.clear()
    const model = models.find(({ id }) => id === state.model)
    this.next.clear(model?.unit ?? 'token')
    this.looking.picture.nothing({ problem: session.problem, progress: this.slow() ? session.progress : null, model, sample: this.sample })
  }

  /** @param {import("../session.js").Run} run */
  drawRun({ id, result, thumbnails }) {
    const { state, look: { map } } = this
    const { at, head, i, j } = this.selection()
    const site = isSite(at) ? at : null
    const second = state.values && !state.words ? this.store.get(`values ${id}`, () => api.valueThumbnails(id)) : undefined
    this.looking.heads.update({ result, thumbnails: second ?? thumbnails, at, head, map, named: this.named(result), more: `heads${carried(format({ ...state, head }))}` })
    const numbers = numbersOf(this.store, id)
    const seen = this.looking.picture.update({ result, numbers, at, head, i, j, state, look: this.look })
    // the ring and the shading move together: while a row is on its way the last one stays
    if (site && (seen || !this.looking.picture.waiting() || this.looking.tokens.axis() !== result.places[site.rows])) {
      this.looking.drawTokens(site, seen, (stack) => api.picture(id, stack))
    }
    const { after, predicts, why } = predictionAt({ at, head, i, j }, state.way, result, this.recorded(result.model.id))
    this.next.update({ unit: result.unit, predicts, prediction: (predicts && numbers.next(after)) || null, why, without: this.without })
    this.drawKnockout(id, result, { site, head, i, j }, after)
    if (seen && j === null) return this.change({ ...address(seen.site, result), head, i, j: seen.best }, '')
    const words = site !== null && isWords(result.places[site.columns].tokens)
    const cell = seen && j !== null && !words ? numbers.cell({ site: seen.site, head }, i, j) : undefined
    const between = seen && j !== null && words ? wordCellOf(this.store, id, { site: seen.site, head }, i, j) : undefined
    if (between && site) this.receipt.words(between, { query: result.places[site.rows].tokens[i], key: result.places[site.columns].tokens[j ?? 0] })
    else if (cell) this.receipt.update({ cell, query: seen?.query(i).name ?? '', key: seen?.key(j ?? 0).name ?? '' })
    else if (!seen && !this.looking.picture.waiting()) this.receipt.clear()
    this.looking.announce(seen)
  }

  /** What a survey calls the heads of a run; null where there is none. @param {import("../types.js").Result} result */
  named(result) {
    const known = this.store.get(`classes ${result.model.id}`, () => api.classes(result.model.id)) ?? null
    if (this.names.known !== known || this.names.result !== result) {
      const called = known && calledOf(known, result)
      this.names = { known, result, named: known && called?.size ? { called, legend: legendOf(known, called) } : null }
    }
    return this.names.named
  }

  /** @param {string} run @param {import("../types.js").Result} result @param {{site: Site|null, head: number, i: number, j: number|null}} place @param {number} after */
  drawKnockout(run, result, { site, head, i, j }, after) {
    if (!site || site.not_drawn) return this.knockout.clear()
    const words = isWords(result.places[site.rows].tokens) || isWords(result.places[site.columns].tokens)
    const whyNot = words ? IN_WORDS : this.store.get(`knockout ${run} ${site.site}`, () => api.knockoutOf(run, site.site))?.why_not
    this.knockout.update({ run, site, head, i, j, after: positionOf(site, result, after), whyNot })
  }

  /** @param {KeyboardEvent} event @param {import("./frame.js").Where} where */
  press(event, { typing }) {
    const action = shortcut(event, typing)
    return action !== null && this.act(action)
  }

  /** @param {import("../pure/keyboard.js").Action} action @returns {boolean} whether it did anything */
  act(action) {
    if (!this.session.run && ['way', 'hide', 'table', 'find', 'words'].includes(action)) return false
    if (action === 'run') this.text.run()
    else if (action === 'text') this.text.focus()
    else if (action === 'words') this.words(WORDS[(WORDS.indexOf(this.state.words) + 1) % WORDS.length])
    else this.looking.act(action)
    return true
  }
}

const IN_WORDS = 'A word is several tokens. Show tokens to take a weight or a head out.'

const page = new Explore()
page.open()
