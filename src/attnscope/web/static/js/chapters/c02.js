// Chapter 2, the heart of the lesson: one example that the reader may change, and the place they have come to in its walk.

import { h, put } from '../dom.js'
import { queryToSheet, sheetToQuery } from '../pure/walk/address.js'
import { changeSentence } from '../pure/walk/change.js'
import { writeSheet } from '../pure/walk/file.js'
import * as sheets from '../pure/walk/sheet.js'
import { Trail } from '../pure/walk/trail.js'
import { mountFiles } from '../views/walk/files.js'
import { action, KEYS } from '../views/walk/keys.js'
import { modelOf, samePlace } from '../views/walk/model.js'
import { mountOptions } from '../views/walk/options.js'
import { mountPlayer } from '../views/walk/player.js'
import { mountProducts } from '../views/walk/products.js'
import { mountProjections } from '../views/walk/projections.js'
import { mountSaying } from '../views/walk/saying.js'
import { mountTable } from '../views/walk/table.js'
import { mountTrace } from '../views/walk/trace.js'
import { mountDepth, mountWords } from '../views/walk/words.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On @typedef {import("../lesson/types.js").Parameters} Parameters */
/** @typedef {import("../pure/walk/types.js").Sheet} Sheet @typedef {import("../views/walk/model.js").Model} Model */

const FIRST_QUERY = 2 // sat, whose query the lesson follows
const PLACES = ['step', 'q', 'predict', 'panel'] // the parameters that are no part of the example

/** @param {HTMLElement} el @param {Chapter} data @param {On} on */
export const mount = (el, data, on) => new Walk(el, data, on)

class Walk {
  /** @type {Trail<Sheet>} what Undo and Redo lead to */ trail = new Trail()
  /** @type {WeakMap<Sheet, number>} the word that asked when an example lost its last words, and with them perhaps that one */ asked = new WeakMap()
  /** @type {Parameters} */ state = {}
  /** @type {Model|null} */ model = null
  /** @type {{group: string, before: Sheet}|null} the vector that is being typed into, and the example as it was before */ typing = null
  /** what the last edit did, in words */ changed = ''
  timer = 0
  keys = KEYS

  /** @param {HTMLElement} el @param {Chapter} data @param {On} on */
  constructor(el, data, on) {
    this.on = on
    const four = data.experiments.four_words
    this.recipe = four.recipe
    /** @type {Sheet} the example of the lesson */
    this.fresh = four.sheet
    this.sheet = this.fresh
    this.saying = mountSaying({ step: () => this.step(this.place() + 1) })
    const vector = {
      take: (/** @type {import("../pure/walk/types.js").Ref} */ ref, /** @type {number} */ value) => this.edit(sheets.withNumber(this.sheet, ref, value), `${ref.grid} ${ref.at[0]}`),
      done: () => this.on.say(this.changed),
      left: () => (this.typing = null),
    }
    const words = {
      word: (/** @type {number} */ at, /** @type {string} */ word) => this.edit(sheets.withWord(this.untyped(`word ${at}`), at, word, this.recipe), `word ${at}`),
      count: (/** @type {number} */ n) => this.edit(sheets.withCount(this.sheet, n, this.recipe)),
      depth: (/** @type {number} */ d) => this.edit(sheets.withDepth(this.sheet, d)),
      done: () => {
        this.typing = null
        this.on.say(this.changed)
      },
    }
    this.words = mountWords(this.recipe.limits, words)
    this.depth = mountDepth(this.recipe.limits, words)
    this.files = mountFiles({ sheet: () => this.sheet, open: (sheet, name) => this.open(sheet, name) })
    this.options = mountOptions({
      query: (query) => this.go({ q: query }),
      mask: (causal) => this.edit(sheets.withMask(this.sheet, causal)),
      scale: (scale) => this.edit(sheets.withScale(this.sheet, scale)),
      predict: (predicting) => this.on.change({ predict: predicting ? '1' : null }, ''),
      panel: (open) => this.on.change({ panel: open ? '1' : null }, ''),
      undo: () => this.undo(),
      redo: () => this.redo(),
      reset: () => this.reset(),
    }, { words: this.words.el, depth: this.depth.el, save: this.files.save, open: this.files.open })
    this.projections = mountProjections(vector)
    this.table = mountTable({ ...vector, go: (step) => this.step(step), choose: (query) => this.go({ q: query }), arranged: (fit) => this.arranged(fit) })
    this.tabs = h('div', { class: 'tabs', role: 'group', 'aria-label': 'Stages' }, ...this.recipe.stages.map((/** @type {{title: string}} */ { title }, /** @type {number} */ stage) =>
      h('button', { type: 'button', onclick: () => this.model && this.step(this.model.ends[stage]) }, title)))
    this.player = mountPlayer({ back: () => this.step(this.place() - 1), step: () => this.step(this.place() + 1), go: (step) => this.step(step), play: () => this.toggle() })
    this.mount(el, four)
  }

  /** @param {HTMLElement} el @param {any} four the numbers of the lesson's example */
  mount(el, four) {
    const head = h('div', { class: 'head' }, h('div', {}), this.options.buttons)
    const desk = /** @type {HTMLElement} */ (el.querySelector('[data-live="walk"]'))
    desk.before(head)
    head.firstElementChild?.append(.../** @type {Element[]} */ ([...el.querySelectorAll('h1, .lead')]))
    this.desk = h('div', { class: 'desk' }, this.files.field, this.files.problem, this.options.el, this.projections.el, this.saying.el, this.tabs, this.table.el)
    put(desk, this.desk)
    el.append(this.player.el)
    this.trace = mountTrace(this.desk, { say: this.on.say, leave: () => this.player.segs.focus() })
    const products = el.querySelector('[data-live="products"]')
    if (products) put(products, mountProducts(four))
  }

  destroy() {
    this.pause()
  }

  /** The reader is in another chapter: nothing plays unseen. */
  leave() {
    this.pause(true)
  }

  place() {
    return this.model?.at ?? 1
  }

  /** @param {Parameters} state */
  update(state) {
    this.state = state
    const sheet = queryToSheet(state, this.fresh, this.recipe)
    if (writeSheet(sheet) !== writeSheet(this.sheet)) {
      if (this.model) this.trail.leave(this.sheet)
      this.sheet = sheet
      this.changed = ''
      this.typing = null
    }
    this.draw()
  }

  draw() {
    const { recipe, fresh, sheet, state } = this
    const before = this.model
    const model = modelOf({ recipe, fresh, sheet, query: whole(state.q) ?? FIRST_QUERY, at: whole(state.step) ?? 1, predicting: state.predict === '1' })
    const moved = before && (before.at !== model.at || before.query !== model.query)
    if (before && model.at === before.at + 1 && before.sheet === sheet) this.saying.judge(model)
    else if (moved || before?.sheet !== sheet) this.saying.clear()
    this.model = model
    const guessing = this.saying.holds(document.activeElement)
    this.saying.update(model, this.changed)
    if (guessing && this.saying.predict.hidden) this.player.step.focus()
    this.options.update(model, { undoable: this.trail.undoable, redoable: this.trail.redoable, fresh: writeSheet(sheet) === writeSheet(fresh), panel: state.panel === '1' })
    this.words.update(model)
    this.depth.update(model)
    this.projections.el.hidden = state.panel !== '1'
    this.projections.update(model)
    this.table.update(model, this.on.look().map)
    ;[...this.tabs.children].forEach((tab, stage) => (stage === model.stage ? tab.setAttribute('aria-current', 'step') : tab.removeAttribute('aria-current')))
    if (model.at === model.steps.length) this.pause()
    this.player.update(model, this.timer > 0)
    this.trace?.update(model)
    if (moved) this.on.say(this.saying.spoken())
  }

  /** Another example, by the reader's hand. Typing into one vector is one edit. @param {Sheet} next @param {string} [group] */
  edit(next, group = '') {
    if (writeSheet(next) === writeSheet(this.sheet)) return
    const going = group !== '' && this.typing?.group === group
    if (!going) {
      this.trail.leave(this.sheet)
      this.typing = group ? { group, before: this.sheet } : null
    }
    this.show(next, (going && this.typing?.before) || this.sheet)
    if (!group) this.on.say(this.changed)
  }

  /** The example before the word at hand was typed into: half a word may be another word, and must not take its row. @param {string} group */
  untyped(group) {
    return this.typing?.group === group ? this.typing.before : this.sheet
  }

  /** @param {Sheet} next @param {Sheet} before what the sentence compares it with @param {string} [said] instead of that sentence */
  show(next, before, said) {
    const last = this.model
    if (last && next.words.length < before.words.length) this.asked.set(this.sheet, last.query)
    const back = next.words.length > this.sheet.words.length ? this.asked.get(next) : undefined
    const query = Math.min(back ?? last?.query ?? 0, next.words.length - 1)
    this.sheet = next
    this.files.clear()
    this.changed = said ?? changeSentence(this.recipe, before, next, query)
    const other = last && next.words.length !== last.words.length
    const step = other ? samePlace(last.step, modelOf({ recipe: this.recipe, fresh: this.fresh, sheet: next, query, at: 1, predicting: false }).steps) : this.place()
    const gone = Object.fromEntries(Object.keys(this.state).filter((name) => !PLACES.includes(name)).map((name) => [name, null]))
    this.on.change({ ...gone, ...sheetToQuery(next, this.fresh), step: String(step), q: String(query) }, 'edit')
  }

  undo() {
    this.back(this.trail.undo(this.sheet))
  }

  redo() {
    this.back(this.trail.redo(this.sheet))
  }

  /** @param {Sheet|undefined} sheet one that was there before; none where there was none */
  back(sheet) {
    if (!sheet) return
    this.typing = null
    this.show(sheet, this.sheet)
    this.on.say(this.changed)
  }

  reset() {
    this.typing = null
    this.trail.leave(this.sheet)
    this.show(this.fresh, this.sheet, 'The example of the lesson is back.')
    this.on.say(this.changed)
  }

  /** @param {Sheet} sheet @param {string} name of its file */
  open(sheet, name) {
    this.typing = null
    this.trail.leave(this.sheet)
    this.show(sheet, this.sheet, `${name} is open: ${sheet.words.join(' ')}.`)
    this.on.say(this.changed)
  }

  /** @param {{q?: number, step?: number}} to */
  go({ q, step }) {
    this.changed = ''
    this.typing = null
    this.on.change({ ...(q === undefined ? {} : { q: String(q) }), ...(step === undefined ? {} : { step: String(step) }) }, q === undefined ? '' : 'query')
  }

  /** By the reader's hand: Play rests. @param {number} step */
  step(step) {
    this.pause()
    this.moveTo(step)
  }

  /** @param {number} step */
  moveTo(step) {
    if (!this.model) return
    const next = Math.max(1, Math.min(this.model.steps.length, step))
    if (next !== this.model.at) this.go({ step: next })
    else this.player.update(this.model, this.timer > 0)
  }

  toggle() {
    if (this.timer) return this.pause(true)
    if (!this.model) return
    if (this.model.at === this.model.steps.length) this.moveTo(1)
    this.tick()
    this.player.update(this.model, true)
  }

  tick() {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => {
      this.moveTo(this.place() + 1)
      if (this.timer) this.tick()
    }, this.player.pace())
  }

  /** @param {boolean} [draw] */
  pause(draw = false) {
    clearTimeout(this.timer)
    this.timer = 0
    if (draw && this.model) this.player.update(this.model, false)
  }

  /** @param {import("../views/walk/layout.js").Fit} fit */
  arranged(fit) {
    this.tabs.hidden = fit !== 'tabs'
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { model } = this
    const what = action(event)
    if (!what || !model) return false
    if (what === 'undo') this.undo()
    else if (what === 'redo') this.redo()
    else if (what === 'play') this.toggle()
    else if (what === 'up' || what === 'down') this.go({ q: Math.max(0, Math.min(model.values.n - 1, model.query + (what === 'up' ? -1 : 1))) })
    else if (what === 'stage') this.step(model.ends.find((end) => end > model.at) ?? model.steps.length)
    else if (what === 'back stage') this.step(model.ends.filter((end) => end < model.at).pop() ?? 1)
    else this.step({ step: model.at + 1, back: model.at - 1, first: 1, last: model.steps.length }[what])
    return true
  }
}

/** @param {string|undefined} text */
const whole = (text) => (text !== undefined && /^\d{1,4}$/.test(text) ? Number(text) : null)
