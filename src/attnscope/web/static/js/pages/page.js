// What the pages that look at a run share beside the base of all pages: a session, the models on offer, and saving a head.

import * as api from '../api.js'
import { Base } from './base.js'
import { part } from '../dom.js'
import { resolve } from '../pure/selection.js'
import { isSite, longName } from '../pure/sites.js'
import { nameOf } from '../pure/values.js'
import { createSession } from '../session.js'
import { mount as mountBadge } from '../views/badge.js'

/** @typedef {import("../types.js").Shared} Shared */

/**
 * @template {Shared} State
 * @extends {Base<State>}
 */
export class Page extends Base {
  /** @type {import("../types.js").Model[]} */ models = []
  /** @type {import("../types.js").Sample|null} */ sample = null

  /** @param {{parse: (search: string) => State, format: (state: State) => string}} spelling @param {import("../pure/keyboard.js").KeyList} keys */
  constructor(spelling, keys) {
    super(spelling, keys)
    const { session, start, cancel } = createSession(() => this.draw(), (model) => this.recorded(model))
    this.session = session
    this.start = start
    this.cancel = cancel
    this.badge = mountBadge(part('badge'))
  }

  /** Whether weight times value is drawn of a site. @param {import("../types.js").Site} site */
  ofValues(site) {
    return this.state.values && !site.lengths.why
  }

  /** The chosen head, as it is drawn. */
  file() {
    const { run } = this.session
    const { at, head } = run ? resolve(this.state, run.result) : { at: null, head: 0 }
    if (!run || !isSite(at)) return null
    const values = this.ofValues(at)
    return { title: `${longName(at, run.result)} · Head ${head}${values ? ` · ${nameOf(at)}` : ''}`, get: (/** @type {string} */ form) => api.exported(run.id, at.site, head, form, values) }
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
      this.session.problem = api.asProblem(error)
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

  /** The server forgot the run, or was started anew. */
  again() {
    this.store.clear()
    this.start(this.state.model ?? '', this.state.text ?? '')
  }

  /** @returns {boolean} */
  busy() {
    return this.session.busy || super.busy()
  }
}
