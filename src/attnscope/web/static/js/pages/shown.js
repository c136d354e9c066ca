// A recording inside one page: heads, tokens and the chosen head, as on the page Explore, out of the numbers that stand in the page.

import { h, part, put } from '../dom.js'
import { Frame } from './frame.js'
import { heldNumbers } from '../held.js'
import { createLooking } from './looking.js'
import { KEYS, inFile, shortcut } from '../pure/keyboard.js'
import { resolve } from '../pure/selection.js'
import { address, isSite } from '../pure/sites.js'
import { EMPTY } from '../pure/urlstate.js'
import { mount as mountBadge } from '../views/badge.js'

/** @typedef {import("../types.js").State} State @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Token} Token */
/**
 * What stands in the page. pictures: of stacks, as data: URLs; python: what each site is called in Python.
 * @typedef {import("../held.js").HeldRun & {pictures: Record<string, string>, start: Partial<State>, python: string[]}} Held
 */

const SHOWN_KEYS = [
  inFile({ keys: ['Esc'], does: 'close, or go back to the heads' }),
  ...KEYS.slice(1).map((part) => ({ ...part, keys: part.keys.filter(({ keys }) => keys[0] !== 'w') })), // tokens alone are held
]

/** @extends {Frame<State>} */
class Shown extends Frame {
  /** @param {Held} held */
  constructor(held) {
    super({ ...EMPTY, ...held.start })
    this.held = held
    this.whole = whole(held)
    this.numbers = heldNumbers(held)
    this.thumbnails = this.numbers.thumbnails()
    this.looking = createLooking(this, { offer() {}, again() {}, cancel() {} })
    mountBadge(part('badge')).update(this.whole)
    put(part('model'), this.whole.model.label)
    const alone = held.heads.length === 1
    part('panel-heads').hidden = alone
    part('shown').classList.toggle('one', alone)
    this.draw()
  }

  result() {
    return this.whole
  }

  keys() {
    return SHOWN_KEYS
  }

  selection() {
    const selection = resolve(this.state, this.whole)
    if (!isSite(selection.at)) return selection
    const [first, end] = this.held.rows[selection.at.site]
    return { ...selection, i: Math.max(first, Math.min(end - 1, selection.i)) }
  }

  drawNow() {
    const { state, whole: result, numbers, looking, look: { map } } = this
    const { at, head, i, j } = this.selection()
    looking.heads.update({ result, thumbnails: this.thumbnails, at, head, map })
    const seen = looking.picture.update({ result, numbers, at, head, i, j, state, look: this.look })
    if (isSite(at)) looking.drawTokens(at, seen, (stack) => this.held.pictures[stack] ?? '')
    if (seen && j === null) return this.change({ ...address(seen.site, result), head, i, j: seen.best }, '')
    put(part('python'), ...(seen && j !== null ? ['In Python, every term of this cell: ', h('code', {}, `${this.held.python[seen.site.site]}.cell(${head}, ${i}, ${j})`)] : []))
    looking.announce(seen)
  }

  /** @param {KeyboardEvent} event @param {import("./frame.js").Where} where */
  press(event, { typing }) {
    const action = shortcut(event, typing)
    if (!action || action === 'run' || action === 'text' || action === 'words') return false
    this.looking.act(action)
    return true
  }
}

/** The result with what was left out of it because it can be told. @param {Held} held @returns {Result} */
function whole({ result, rows }) {
  for (const axis of Object.values(result.places)) {
    axis.tokens = axis.tokens.map((token, i) => Object.assign(/** @type {Token} */ ({ id: -1, kind: 'text', bytes: null, continues: false, spoken: token.text }), token, { i }))
  }
  result.sites.forEach((site, at) => (site.held = rows[at]))
  return result
}

new Shown(JSON.parse(part('data').textContent ?? ''))
