// What all pages with a state share: the state in the address, the bar, numbers fetched once, drawing at most once a frame, and Save.

import { mountBar } from './bar.js'
import { attr } from './dom.js'
import { createHistory } from './history.js'
import { look, onSystemTheme } from './look.js'
import { sharedShortcut } from './pure/keyboard.js'
import { createStore } from './store.js'
import * as dialogs from './views/dialogs.js'
import { showSave } from './views/save.js'

/** @typedef {{theme: "light"|"dark"|null}} Themed */
/** Where a key went down. @typedef {{target: HTMLElement|null, typing: boolean}} Where */

/** @param {string} id */
export const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

const MAIN = /** @type {HTMLElement} */ (document.querySelector('main'))
const SAVE = /** @type {HTMLButtonElement} */ (part('save'))

/**
 * A page says how its address is spelled and which keys it has, draws (drawNow), acts on keys (press), and says what Save hands out (file).
 * @template {Themed} State
 */
export class Base {
  drawing = 0

  /** @param {{parse: (search: string) => State, format: (state: State) => string}} spelling @param {import("./pure/keyboard.js").KeyList} keys */
  constructor(spelling, keys) {
    this.history = createHistory(spelling, (state) => this.went(state))
    this.state = this.history.read()
    this.look = look(this.state.theme)
    this.store = createStore(() => this.draw())
    this.bar = mountBar({ link: () => this.link(), theme: () => this.theme(), keys: () => keys })
    this.listen()
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

  /** Draws once before the next frame, however often it is asked for. */
  draw() {
    if (this.drawing) return
    attr(MAIN, 'aria-busy', true)
    this.drawing = requestAnimationFrame(() => this.drawn())
  }

  /** Draws what waits for the next frame. */
  drawn() {
    cancelAnimationFrame(this.drawing)
    this.drawing = 0
    this.drawNow()
    SAVE.disabled = !this.file()
    if (!this.drawing) attr(MAIN, 'aria-busy', this.busy())
  }

  drawNow() {}

  /** What Save hands out now; null where there is nothing yet. @returns {import("./views/save.js").Saved|null} */
  file() {
    return null
  }

  /** Whether anything is on its way. @returns {boolean} */
  busy() {
    return this.store.awaited() > 0
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
    SAVE.addEventListener('click', () => {
      const file = this.file()
      if (file) showSave(file)
    })
    addEventListener('keydown', () => this.drawing && this.drawn(), { capture: true }) // a key goes on from where the last one led
    addEventListener('keydown', (event) => {
      const target = event.target instanceof HTMLElement ? event.target : null
      const typing = target?.matches('textarea, input:not([type=checkbox]), select') ?? false
      if (!dialogs.open() && (this.shared(event, typing) || this.press(event, { target, typing }))) event.preventDefault()
    })
  }

  /** @param {KeyboardEvent} event @param {boolean} typing @returns {boolean} whether the key did what it does on every page */
  shared(event, typing) {
    const action = sharedShortcut(event, typing)
    if (action) this.bar[action]()
    return action !== null
  }

  /** @param {KeyboardEvent} _event @param {Where} _where @returns {boolean} whether the key did anything */
  press(_event, _where) {
    return false
  }
}
