// Tokens, heads and the picture of a run beside one another: what is chosen in one, all three follow.

import { part, say } from '../dom.js'
import { isPaddedRow, isPadding, sidesOf } from '../pure/places.js'
import { headSaying, tokenSaying } from '../pure/sayings.js'
import { chooseToken, turn } from '../pure/selection.js'
import { address, isSite, siteOfGroup } from '../pure/sites.js'
import * as dialogs from '../views/dialogs.js'
import { mount as mountHeads } from '../views/heads.js'
import { createPicture } from '../views/picture.js'
import { mount as mountTokens } from '../views/tokens.js'

/** @typedef {import("../types.js").State} State @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Site} Site */
/** @typedef {import("../views/picture.js").Seen} Seen @typedef {import("../views/tokens.js").Side} Side */
/**
 * The page they stand on.
 * @typedef {{state: State, look: import("../look.js").Look, draw: () => void, result: () => Result, selection: () => import("../pure/selection.js").Selection,
 *   change: (patch: Partial<State>, kind: string) => void}} On
 */
/** What the page alone can do. @typedef {{words?: (words: State["words"]) => void, offer: (text: string) => void, again: () => void, cancel: () => void}} Own */

/** @param {On} page @param {Own} own */
export const createLooking = (page, own) => new Looking(page, own)

/** @typedef {ReturnType<typeof createLooking>} LookingAt */

class Looking {
  /** @type {"token"|"head"|"cell"|null} what is to be announced once its numbers are here */ unsaid = null

  /** @param {On} page @param {Own} own */
  constructor(page, { words, ...own }) {
    this.page = page
    const draw = () => page.draw()
    this.tokens = mountTokens(part('panel-tokens'), { choose: (side, token, how) => this.chooseToken(side, token, how), turn: (way) => this.turn(way), table: () => this.table(), words })
    this.heads = mountHeads(part('panel-heads'), { choose: (row, head) => this.chooseHead(row, head), group: (group) => this.chooseGroup(group), open: () => this.picture.focus(), resize: draw })
    this.picture = createPicture(part('panel-map'), {
      chooseCell: (i, j, how) => this.chooseCell(i, j, how),
      leave: () => this.heads.focus(),
      scale: (scale) => page.change({ scale }, 'scale'),
      hide: (hide) => page.change({ hide }, 'hide'),
      values: (values) => page.change({ values }, 'values'),
      chooseHead: (site, head) => [this.chooseHead({ kind: 'site', site, first: 0 }, head), requestAnimationFrame(() => this.heads.focus())], // the card's button goes away with the focus
      ...own,
      draw,
    })
  }

  /** A token of one side alone is looked from, or at: the way of looking follows. @param {Side} side @param {number} token @param {"pointer"|"key"} how */
  chooseToken(side, token, how) {
    const { at, i, j } = this.page.selection()
    this.unsaid = how === 'key' ? 'token' : null
    if (side === 'rows') this.page.change({ i: token, way: 'at' }, 'token')
    else if (side === 'columns') this.page.change({ j: token, way: 'by' }, 'token')
    else this.page.change(chooseToken({ i, j }, this.page.state.way, token, isSite(at) && at.causal), 'token')
  }

  /** @param {import("../types.js").Group} group */
  chooseGroup(group) {
    const { at, head } = this.page.selection()
    const site = siteOfGroup(group, at?.layer ?? 0, this.page.result())
    if (site) this.page.change({ ...address(site, this.page.result()), head: Math.min(head, site.heads - 1), i: null, j: null }, 'head')
  }

  /** @param {import("../types.js").Way} way */
  turn(way) {
    const now = this.page.state.way
    if (way === now) return
    this.unsaid = 'token'
    const { at } = this.page.selection()
    const same = !isSite(at) || at.rows === at.columns
    this.page.change(same ? turn(this.page.selection(), now) : { way }, 'way')
  }

  /** @param {import("../pure/sites.js").Row} row @param {number} head */
  chooseHead(row, head) {
    this.unsaid = 'head'
    const place = row.kind === 'site' ? { ...address(row.site, this.page.result()), head: Math.min(head, row.site.heads - 1) } : { layer: row.missing.layer, site: null, head }
    this.page.change(place, 'head')
  }

  /** @param {number} i @param {number} j @param {"pointer"|"key"} how */
  chooseCell(i, j, how) {
    this.unsaid = how === 'key' ? 'cell' : null
    this.page.change({ i, j }, 'cell')
  }

  /** @param {Site} site @param {Seen|null} seen @param {(stack: string) => string} picture the address of the picture of a stack */
  drawTokens(site, seen, picture) {
    const { state, look: { map } } = this.page
    const { i, j } = this.page.selection()
    this.tokens.update({
      ...sidesOf(site, this.page.result()), way: state.way, i, j, values: seen?.values ?? null, place: seen?.place ?? (() => 0), scaleName: state.scale, map, sink: seen?.sink ?? null, words: state.words,
      padded: (side, at) => (side === 'rows' ? isPaddedRow(site, at) : isPadding(site, at)), picture,
    })
  }

  /** @param {Seen|null} seen */
  announce(seen) {
    const what = this.unsaid
    if (!what || (!seen && this.picture.waiting())) return
    this.unsaid = null
    const { page } = this
    const said = {
      cell: () => this.picture.sentence(),
      head: () => headSaying(page.selection(), page.result()),
      token: () => tokenSaying(page.selection(), page.state.way, page.result(), seen?.values ?? null, seen?.what),
    }
    say(part('live'), said[what]())
  }

  table() {
    const data = this.picture.table(this.page.state.way)
    if (data) dialogs.showTable(data)
  }

  /** @param {Exclude<import("../pure/keyboard.js").Action, "run"|"text"|"words">} action */
  act(action) {
    const { state } = this.page
    if (action === 'way') this.turn(state.way === 'at' ? 'by' : 'at')
    else if (action === 'hide') this.page.change({ hide: !state.hide }, 'hide')
    else if (action === 'table') this.table()
    else if (action === 'find') this.tokens.find()
    else this.page.change({ scale: action }, 'scale')
  }
}
