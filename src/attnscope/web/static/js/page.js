// What the pages that look at a run share: one state, kept in the address, a session, its numbers, and drawing at most once a frame.

import * as api from './api.js'
import { mountBar } from './bar.js'
import { attr } from './dom.js'
import { createHistory } from './history.js'
import { look, onSystemTheme } from './look.js'
import { resolve } from './pure/selection.js'
import { isSite, longName } from './pure/sites.js'
import { asProblem, createSession } from './session.js'
import { createStore } from './store.js'
import { mount as mountBadge } from './views/badge.js'
import * as dialogs from './views/dialogs.js'
import { showSave } from './views/save.js'

/** @typedef {import("./types.js").Shared} Shared */
/** Where a key went down. @typedef {{target: HTMLElement|null, typing: boolean}} Where */

/** @param {string} id */
export const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

const MAIN = /** @type {HTMLElement} */ (document.querySelector('main'))

/**
 * A page says how its address is spelled and which keys it has, draws (drawNow), and acts on keys (press).
 * @template {Shared} State
 */
export class Page {
  /** @type {import("./types.js").Model[]} */ models = []
  /** @type {import("./types.js").Sample|null} */ sample = null
  drawing = 0

  /** @param {{parse: (search: string) => State, format: (state: State) => string}} spelling @param {import("./pure/keyboard.js").KeyList} keys */
  constructor(spelling, keys) {
    const draw = () => this.draw()
    this.history = createHistory(spelling, (state) => this.went(state))
    this.state = this.history.read()
    this.look = look(this.state.theme)
    this.store = createStore(draw)
    const { session, start, cancel } = createSession(draw, (model) => this.recorded(model))
    this.session = session
    this.start = start
    this.cancel = cancel
    this.badge = mountBadge(part('badge'))
    this.bar = mountBar({ link: () => this.link(), theme: () => this.theme(), keys: () => keys })
    part('save').addEventListener('click', () => this.save())
    this.listen()
  }

  /** Offers the chosen head as a file. */
  save() {
    const { run } = this.session
    const { at, head } = run ? resolve(this.state, run.result) : { at: null, head: 0 }
    if (run && isSite(at)) showSave({ title: `${longName(at, run.result)} · Head ${head}`, get: (form) => api.exported(run.id, at.site, head, form) })
  }

  async open() {
    this.draw()
    try {
      const { models, default: sample } = await api.models()
      Object.assign(this, { models, sample })
      const model = this.state.model ?? sample.model
      this.state = { ...this.state, model, text: this.recorded(model) ? null : (this.state.text ?? sample.text) }
      this.history.write(this.state, '')
      this.start(model, this.state.text ?? '')
    } catch (error) {
      this.session.problem = asProblem(error)
      this.draw()
    }
  }

  /** Whether a model is a recording, which needs no text. @param {string} model */
  recorded(model) {
    return this.models.some(({ id, recorded }) => id === model && recorded === true)
  }

  /** Back or forward. @param {State} state */
  went(state) {
    const model = state.model ?? this.sample?.model ?? ''
    const text = this.recorded(model) ? null : (state.text ?? this.sample?.text ?? '')
    const other = model !== this.state.model || text !== this.state.text
    this.state = { ...state, model, text }
    if (other) this.start(model, text ?? '')
    this.relook()
  }

  /** @param {Partial<State>} patch @param {string} kind of step in the history; "" completes the present one */
  change(patch, kind) {
    this.state = { ...this.state, ...patch }
    this.history.write(this.state, kind)
    this.draw()
  }

  /** The server forgot the run, or was started anew. */
  again() {
    this.store.clear()
    this.start(this.state.model ?? '', this.state.text ?? '')
  }

  /** Draws once before the next frame, however often it is asked for. */
  draw() {
    if (this.drawing) return
    attr(MAIN, 'aria-busy', true)
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0
      this.drawNow()
      if (!this.drawing) attr(MAIN, 'aria-busy', this.busy())
    })
  }

  drawNow() {}

  /** Whether anything is on its way. @returns {boolean} */
  busy() {
    return this.session.busy || this.store.awaited() > 0
  }

  theme() {
    this.change(/** @type {Partial<State>} */ ({ theme: this.look.dark ? 'light' : 'dark' }), 'theme')
    this.relook()
  }

  relook() {
    this.look = look(this.state.theme)
    this.draw()
  }

  link() {
    this.history.flush()
    return location.href
  }

  listen() {
    onSystemTheme(() => this.relook())
    addEventListener('keydown', (event) => {
      const target = event.target instanceof HTMLElement ? event.target : null
      const typing = target?.matches('textarea, input:not([type=checkbox]), select') ?? false
      if (!dialogs.open() && this.press(event, { target, typing })) event.preventDefault()
    })
  }

  /** @param {KeyboardEvent} _event @param {Where} _where @returns {boolean} whether the key did anything */
  press(_event, _where) {
    return false
  }
}
