// What every page has that is drawn from a state: drawing at most once a frame, light or dark, and keys.

import { attr, part } from '../dom.js'
import { look, onSystemTheme } from '../look.js'
import { sharedShortcut } from '../pure/keyboard.js'
import * as dialogs from '../views/dialogs.js'

/** @typedef {{theme: "light"|"dark"|null}} Themed */
/** Where a key went down. @typedef {{target: HTMLElement|null, typing: boolean}} Where */

const MAIN = /** @type {HTMLElement} */ (document.querySelector('main'))

/**
 * A page says which keys it has (keys), draws (drawNow), and acts on keys (press).
 * @template {Themed} State
 */
export class Frame {
  drawing = 0

  /** @param {State} state */
  constructor(state) {
    this.state = state
    this.look = look(state.theme)
    onSystemTheme(() => this.relook())
    part('theme').addEventListener('click', () => this.theme())
    part('keys').addEventListener('click', () => this.showKeys())
    addEventListener('keydown', () => this.drawing && this.drawn(), { capture: true }) // a key goes on from where the last one led
    addEventListener('keydown', (event) => {
      const target = event.target instanceof HTMLElement ? event.target : null
      const typing = target?.matches('textarea, input:not([type=checkbox]), select') ?? false
      if (!dialogs.open() && (this.shared(sharedShortcut(event, typing)) || this.press(event, { target, typing }))) event.preventDefault()
    })
  }

  /** @param {Partial<State>} patch @param {string} _kind of step in the history, where there is one; "" completes the present one */
  change(patch, _kind) {
    this.state = { ...this.state, ...patch }
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
    this.settle()
  }

  /** Says whether the page still waits for something. */
  settle() {
    if (!this.drawing) attr(MAIN, 'aria-busy', this.busy())
  }

  drawNow() {}

  /** Whether anything is on its way. @returns {boolean} */
  busy() {
    return false
  }

  theme() {
    this.change(/** @type {Partial<State>} */ ({ theme: this.look.dark ? 'light' : 'dark' }), 'theme')
    this.relook()
  }

  relook() {
    this.look = look(this.state.theme)
    this.draw()
  }

  /** What the dialog of keys lists. @returns {import("../pure/keyboard.js").KeyList} */
  keys() {
    return []
  }

  showKeys() {
    dialogs.showKeys(this.keys())
  }

  /** @param {import("../pure/keyboard.js").Shared|null} action what a key does on every page @returns {boolean} whether it did anything */
  shared(action) {
    if (action === 'theme') this.theme()
    else if (action === 'keys') this.showKeys()
    else return false
    return true
  }

  /** @param {KeyboardEvent} _event @param {Where} _where @returns {boolean} whether the key did anything */
  press(_event, _where) {
    return false
  }
}
