// A recording inside one page: heads, tokens and the chosen head, as on the page Explore, out of the numbers that stand in the page.

import { attr, h, put, say } from './dom.js'
import { heldNumbers } from './held.js'
import { look, onSystemTheme } from './look.js'
import { KEYS, sharedShortcut, shortcut } from './pure/keyboard.js'
import { isPaddedRow, isPadding, sidesOf } from './pure/places.js'
import { headSaying, tokenSaying } from './pure/sayings.js'
import { chooseToken, resolve, turn } from './pure/selection.js'
import { address, isSite, siteOfGroup } from './pure/sites.js'
import { EMPTY } from './pure/urlstate.js'
import { mount as mountBadge } from './views/badge.js'
import * as dialogs from './views/dialogs.js'
import { mount as mountHeads } from './views/heads.js'
import { createPicture } from './views/picture.js'
import { mount as mountTokens } from './views/tokens.js'

/** @typedef {import("./types.js").State} State @typedef {import("./types.js").Result} Result @typedef {import("./types.js").Token} Token */
/** @typedef {import("./pure/sites.js").Row} Row @typedef {import("./views/tokens.js").Side} Side */
/**
 * What stands in the page. pictures: of stacks, as data: URLs; python: what each site is called in Python.
 * @typedef {import("./held.js").HeldRun & {pictures: Record<string, string>, start: Partial<State>, python: string[]}} Held
 */

const SHOWN_KEYS = [
  { part: 'Everywhere', keys: [{ keys: ['Tab'], does: 'next part' }, { keys: ['d'], does: 'light or dark' }, { keys: ['?'], does: 'these keys' }, { keys: ['Esc'], does: 'close, or go back to the heads' }] },
  ...KEYS.slice(1).map((part) => ({ ...part, keys: part.keys.filter(({ keys }) => keys[0] !== 'w') })), // tokens alone are held
]

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

class Shown {
  /** @type {"token"|"head"|"cell"|null} */ unsaid = null
  drawing = 0

  /** @param {Held} held */
  constructor(held) {
    this.held = held
    this.result = whole(held)
    this.numbers = heldNumbers(held)
    this.thumbnails = this.numbers.thumbnails()
    this.state = { ...EMPTY, ...held.start }
    this.look = look(this.state.theme)
    const draw = () => this.draw()
    this.tokens = mountTokens(part('panel-tokens'), { choose: (side, token, how) => this.chooseToken(side, token, how), turn: (way) => this.turn(way), table: () => this.table() })
    this.heads = mountHeads(part('panel-heads'), { choose: (row, head) => this.chooseHead(row, head), group: (group) => this.chooseGroup(group), open: () => this.picture.focus(), resize: draw })
    this.picture = createPicture(part('panel-map'), {
      chooseCell: (i, j, how) => this.chooseCell(i, j, how),
      leave: () => this.heads.focus(),
      scale: (scale) => this.change({ scale }),
      hide: (hide) => this.change({ hide }),
      values: (values) => this.change({ values }),
      chooseHead: (site, head) => this.chooseHead({ kind: 'site', site, first: 0 }, head),
      offer() {},
      again() {},
      cancel() {},
      draw,
    })
    mountBadge(part('badge')).update(this.result)
    put(part('model'), this.result.model.label)
    const alone = held.heads.length === 1
    part('panel-heads').hidden = alone
    part('shown').classList.toggle('one', alone)
    this.listen()
    this.draw()
  }

  /** @param {Partial<State>} patch */
  change(patch) {
    this.state = { ...this.state, ...patch }
    this.draw()
  }

  selection() {
    const selection = resolve(this.state, this.result)
    if (!isSite(selection.at)) return selection
    const [first, end] = this.held.rows[selection.at.site]
    return { ...selection, i: Math.max(first, Math.min(end - 1, selection.i)) }
  }

  /** @param {Side} side @param {number} token @param {"pointer"|"key"} how */
  chooseToken(side, token, how) {
    const { at, i, j } = this.selection()
    this.unsaid = how === 'key' ? 'token' : null
    if (side === 'rows') this.change({ i: token, way: 'at' })
    else if (side === 'columns') this.change({ j: token, way: 'by' })
    else this.change(chooseToken({ i, j }, this.state.way, token, isSite(at) && at.causal))
  }

  /** @param {import("./types.js").Group} group */
  chooseGroup(group) {
    const { at, head } = this.selection()
    const site = siteOfGroup(group, at?.layer ?? 0, this.result)
    if (site) this.change({ ...address(site, this.result), head: Math.min(head, site.heads - 1), i: null, j: null })
  }

  /** @param {import("./types.js").Way} way */
  turn(way) {
    if (way === this.state.way) return
    this.unsaid = 'token'
    const { at } = this.selection()
    this.change(!isSite(at) || at.rows === at.columns ? turn(this.selection(), this.state.way) : { way })
  }

  /** @param {Row} row @param {number} head */
  chooseHead(row, head) {
    this.unsaid = 'head'
    this.change(row.kind === 'site' ? { ...address(row.site, this.result), head: Math.min(head, row.site.heads - 1) } : { layer: row.missing.layer, site: null, head })
  }

  /** @param {number} i @param {number} j @param {"pointer"|"key"} how */
  chooseCell(i, j, how) {
    this.unsaid = how === 'key' ? 'cell' : null
    this.change({ i, j })
  }

  draw() {
    if (this.drawing) return
    attr(part('shown'), 'aria-busy', true)
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0
      this.drawNow()
      if (!this.drawing) attr(part('shown'), 'aria-busy', false)
    })
  }

  drawNow() {
    const { state, result, numbers, look: { map } } = this
    const { at, head, i, j } = this.selection()
    const site = isSite(at) ? at : null
    this.heads.update({ result, thumbnails: this.thumbnails, at, head, map })
    const seen = this.picture.update({ result, numbers, at, head, i, j, state, look: this.look })
    if (site) {
      this.tokens.update({
        ...sidesOf(site, result), way: state.way, i, j, values: seen?.values ?? null, place: seen?.place ?? (() => 0), scaleName: state.scale, map, sink: seen?.sink ?? null,
        padded: (side, k) => (side === 'rows' ? isPaddedRow(site, k) : isPadding(site, k)), picture: (stack) => this.held.pictures[stack] ?? '',
      })
    }
    if (seen && j === null) return this.change({ ...address(seen.site, result), head, i, j: seen.best })
    put(part('python'), ...(seen && j !== null ? ['In Python, every term of this cell: ', h('code', {}, `${this.held.python[seen.site.site]}.cell(${head}, ${i}, ${j})`)] : []))
    this.announce(seen)
  }

  /** @param {import("./views/picture.js").Seen|null} seen */
  announce(seen) {
    const what = this.unsaid
    this.unsaid = null
    if (what === 'cell') say(part('live'), this.picture.sentence())
    if (what === 'head') say(part('live'), headSaying(this.selection(), this.result))
    if (what === 'token') say(part('live'), tokenSaying(this.selection(), this.state.way, this.result, seen?.values ?? null, seen?.what))
  }

  table() {
    const data = this.picture.table(this.state.way)
    if (data) dialogs.showTable(data)
  }

  theme() {
    this.state.theme = this.look.dark ? 'light' : 'dark'
    this.relook()
  }

  relook() {
    this.look = look(this.state.theme)
    this.draw()
  }

  listen() {
    onSystemTheme(() => this.relook())
    part('theme').addEventListener('click', () => this.theme())
    part('keys').addEventListener('click', () => dialogs.showKeys(SHOWN_KEYS))
    addEventListener('keydown', (event) => {
      const typing = event.target instanceof HTMLElement && event.target.matches('input:not([type=checkbox])')
      if (!dialogs.open() && (this.shared(sharedShortcut(event, typing)) || this.act(shortcut(event, typing)))) event.preventDefault()
    })
  }

  /** What a key does on every page; a file has no link. @param {import("./pure/keyboard.js").Shared|null} action @returns {boolean} whether it did anything */
  shared(action) {
    if (action === 'theme') this.theme()
    else if (action === 'keys') dialogs.showKeys(SHOWN_KEYS)
    else return false
    return true
  }

  /** @param {import("./pure/keyboard.js").Action|null} action @returns {boolean} whether it did anything */
  act(action) {
    if (!action || action === 'run' || action === 'text' || action === 'words') return false
    if (action === 'way') this.turn(this.state.way === 'at' ? 'by' : 'at')
    else if (action === 'hide') this.change({ hide: !this.state.hide })
    else if (action === 'table') this.table()
    else if (action === 'find') this.tokens.find()
    else this.change({ scale: action })
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
