// What all pages of the app share beside the frame: the state in the address, the bar, numbers fetched once, and Save.

import { mountBar } from './bar.js'
import { Frame } from './frame.js'
import { createHistory } from '../history.js'
import { createStore } from '../store.js'
import { showSave } from '../views/save.js'

/** @typedef {import("./frame.js").Themed} Themed */

const SAVE = /** @type {HTMLButtonElement|null} */ (document.getElementById('save'))

/**
 * A page says how its address is spelled and which keys it has, and what Save hands out (file).
 * @template {Themed} State
 * @extends {Frame<State>}
 */
export class Base extends Frame {
  /** @param {{parse: (search: string) => State, format: (state: State) => string}} spelling @param {import("../pure/keyboard.js").KeyList} keys */
  constructor(spelling, keys) {
    super(spelling.parse(location.search))
    this.listed = keys
    this.history = createHistory(spelling, (state) => this.went(state))
    this.store = createStore(() => this.draw())
    this.copy = mountBar(() => this.link())
    SAVE?.addEventListener('click', () => {
      const file = this.file()
      if (file) showSave(file)
    })
  }

  keys() {
    return this.listed
  }

  /** Back or forward. @param {State} state */
  went(state) {
    this.state = state
    this.relook()
  }

  /** @param {Partial<State>} patch @param {string} kind of step in the history; "" completes the present one */
  change(patch, kind) {
    this.state = { ...this.state, ...patch }
    this.history.write(this.state, kind)
    this.draw()
  }

  drawn() {
    super.drawn()
    if (SAVE) SAVE.disabled = !this.file()
  }

  /** What Save hands out now; null where there is nothing yet. @returns {import("../views/save.js").Saved|null} */
  file() {
    return null
  }

  /** @returns {boolean} */
  busy() {
    return this.store.awaited() > 0
  }

  link() {
    this.history.flush()
    return location.href
  }

  /** @param {import("../pure/keyboard.js").Shared|null} action @returns {boolean} */
  shared(action) {
    if (action !== 'copy') return super.shared(action)
    this.copy()
    return true
  }
}
