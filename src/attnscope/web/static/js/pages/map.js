// The page Map: one state, kept in the address, drawn by the views; every choice makes a new state.

import * as api from '../api.js'
import { h, part, say } from '../dom.js'
import { Flight } from './mapflight.js'
import { createSource, keyOf } from '../mapsource.js'
import { numbersOf } from '../numbers.js'
import { Page } from './page.js'
import { KEYS, shortcut } from '../pure/map/keys.js'
import { positionOf } from '../pure/knockout.js'
import { distanceWords } from '../pure/map/marks.js'
import { format, parse } from '../pure/map/url.js'
import { held, isWhole, LARGEST_CELL, showing, shown, stride, whole } from '../pure/map/view.js'
import { pixelWords } from '../pure/map/paint.js'
import { cellSentence, viewSentence } from '../pure/map/words.js'
import { spoken } from '../pure/marks.js'
import { count } from '../pure/number.js'
import { sidesOf } from '../pure/places.js'
import { address, isSite, longName } from '../pure/sites.js'
import { resolve } from '../pure/selection.js'
import { secondOf } from '../pure/values.js'
import { mount as mountKnockout } from '../views/knockout.js'
import { chooseHead } from '../views/map/heads.js'
import { mount as mountSheet } from '../views/map/sheet.js'
import { mount as mountTools } from '../views/map/tools.js'

/** @typedef {import("../types.js").MapState} MapState @typedef {import("../types.js").LargeCell} LargeCell @typedef {{i: number, j: number}} Cell */

/** @extends {Page<MapState>} */
class MapPage extends Page {
  /** @type {import("../mapsource.js").Source|null} */ source = null
  /** @type {{cell: Cell, value: number|null, cells: number}|null} what is pointed at */ pointed = null
  /** @type {import("../pure/values.js").Second|null} */ seconds = null
  /** @type {"cell"|"view"|null} what is to be announced once it is drawn */ unsaid = null

  constructor() {
    super({ parse, format }, KEYS)
    this.flight = new Flight(this)
    this.tools = mountTools(part('tools'), {
      heads: () => this.pickHead(),
      pixel: (pixel) => this.change({ pixel, ...(pixel !== 'max' && this.state.scale === 'row' ? { scale: 'log' } : {}) }, 'pixel'),
      scale: (scale) => this.colour(scale),
      values: (values) => this.change({ values }, 'values'),
      go: (asked, back) => this.flight.go(asked, back),
      zoom: (factor) => this.flight.zoom(factor),
      whole: () => this.flight.whole(),
    })
    this.sheet = mountSheet({ plane: part('view'), map: part('map'), side: part('side') }, {
      view: (view) => this.change({ view }, 'view'),
      choose: (cell, block) => this.flight.chooseAt(cell, block),
      hover: (cell, value, cells) => this.hover(cell, value, cells),
      step: (cell) => this.choose(cell),
      fly: (cell) => this.flight.fly(cell),
      list: (list) => this.change({ list }, 'list'),
      marks: (marks) => this.change({ marks }, 'marks'),
      weights: () => this.change({ values: false }, 'values'),
      again: () => this.again(),
      cancel: () => this.source?.cancel(),
      resume: () => this.source?.resume(),
      draw: () => this.draw(),
    })
    const largest = part('side').lastElementChild
    this.knockout = mountKnockout(part('side').insertBefore(h('section'), largest), () => {})
    addEventListener('resize', () => this.draw())
  }

  /** @param {Partial<MapState>} patch @param {string} kind of step in the history; "" completes the present one */
  change(patch, kind) {
    const grid = this.source?.grid
    super.change(patch.view && grid && isWhole(patch.view, grid, this.sheet.size()) ? { ...patch, view: null } : patch, kind)
  }

  again() {
    this.source?.stop()
    this.source = null
    super.again()
  }

  /** Where a state speaks of in this run; null where there is no head. */
  here() {
    const result = this.session.run?.result
    if (!result) return null
    const { at, head } = resolve({ ...EXPLORE, ...this.state, scale: 'log' }, result)
    if (!isSite(at)) return { result, at, head, site: null, axes: null, chosen: null }
    const { i, j } = this.state
    const chosen = i !== null && j !== null ? { i: Math.min(i, at.tq - 1), j: Math.min(j, at.tk - 1) } : null
    return { result, at, head, site: at, axes: sidesOf(at, result), chosen }
  }

  /** What is drawn in place of weights; null where weights are, and as long as lengths are on their way. @returns {import("../pure/values.js").Second|null} */
  second() {
    const [run, site] = [this.session.run, this.source?.site]
    if (!run || !site || !this.source || !this.ofValues(site)) return null
    const lengths = numbersOf(this.store, run.id).sides({ site, head: this.source.head })?.length
    if (!lengths) return null
    if (this.seconds?.lengths !== lengths) this.seconds = secondOf(site, lengths)
    return this.seconds
  }

  /** The part that is looked at: the whole where the address names none. */
  view() {
    const { source, sheet } = this
    if (!source?.grid) return null
    const size = sheet.size()
    return this.state.view ? held(this.state.view, source.grid, size) : whole(source.grid, size)
  }

  /** @param {Cell} cell */
  choose({ i, j }) {
    this.unsaid = 'cell'
    const { view } = this.state
    this.change({ i, j, view: view && showing(view, { i, j }, this.sheet.size()) }, 'cell')
  }

  /** @param {Cell|null} cell @param {number|null} value @param {number} cells */
  hover(cell, value, cells) {
    const before = this.pointed
    if (before === cell || (before && cell && before.cell.i === cell.i && before.cell.j === cell.j && before.value === value)) return
    this.pointed = cell && { cell, value, cells }
    this.draw()
  }

  /** @returns {LargeCell[]|undefined} */
  largest() {
    const [run, source] = [this.session.run, this.source]
    if (!run || !source?.made) return undefined
    const { site, of } = source
    const apart = this.state.list === 'apart'
    const left = { skipFirst: apart, near: apart && site.kind === 'self' ? 1 : 0 }
    return this.store.get(`largest ${source.key} ${this.state.list}`, () => api.largestCells(of, { n: 50, ...left }))
  }

  /** @param {MapState["scale"]} scale */
  colour(scale) {
    if (scale !== 'row' || this.state.pixel === 'max') this.change({ scale }, 'scale')
  }

  pickHead() {
    const [run, here] = [this.session.run, this.here()]
    if (!run || !here) return
    chooseHead({ result: run.result, thumbnails: run.thumbnails, at: here.at, head: here.head, map: this.look.map }, (row, head) => {
      if (row.kind === 'missing') return this.change({ layer: row.missing.layer, site: null, head, i: null, j: null, view: null }, 'head')
      this.change({ ...address(row.site, run.result), head: Math.min(head, row.site.heads - 1), i: null, j: null, view: null }, 'head')
    })
  }

  busy() {
    const { source } = this
    return super.busy() || (source !== null && !source.problem && !source.cancelled && (!source.made || source.tiles.awaited() > 0))
  }

  drawNow() {
    const { session, state, look: colours } = this
    const here = this.here()
    this.follow(here)
    const view = this.view()
    const { source } = this
    const cells = this.largest()
    if (here?.site && cells && !here.chosen) return this.change({ i: cells[0]?.i ?? 0, j: cells[0]?.j ?? 0 }, '')
    const name = here ? `${here.site ? longName(here.site, here.result) : `Layer ${here.at?.layer ?? 0}`} · Head ${here.head}` : 'Head'
    const size = this.sheet.size()
    const least = !view || !source?.grid || isWhole(view, source.grid, size)
    this.tools.update({ state, name, size: here?.site ? [here.site.tq, here.site.tk] : null, least, most: !view || view.scale >= LARGEST_CELL * 0.9999, rows: state.pixel === 'max' })
    this.badge.update(here?.result ?? null)
    const numbers = session.run ? numbersOf(this.store, session.run.id) : null
    this.sheet.update({ session, here, source, second: this.second(), view, state, look: colours, name, numbers, pointed: this.pointed, cells, store: this.store })
    this.drawKnockout(here)
    document.title = here ? `${name} · Map · attnscope` : 'Map · attnscope'
    this.announce(here, view)
  }

  /** @param {ReturnType<MapPage["here"]>} here */
  drawKnockout(here) {
    const run = this.session.run?.id
    if (!run || !here?.site || !here.chosen || here.site.not_drawn) return this.knockout.clear()
    const { site, head, chosen: { i, j }, result } = here
    const able = this.store.get(`knockout ${run} ${site.site}`, () => api.knockoutOf(run, site.site))
    this.knockout.update({ run, site, head, i, j, after: positionOf(site, result, i), whyNot: able?.why_not })
  }

  /** Another head, or another run: another map. @param {ReturnType<MapPage["here"]>} here */
  follow(here) {
    const run = this.session.run
    const site = here?.site && !here.site.not_drawn && !(this.state.values && here.site.lengths.why) ? here.site : null
    const of = run && here && site ? { run: run.id, site: site.site, head: here.head, values: this.state.values } : null
    if ((of ? keyOf(of) : '') === (this.source?.key ?? '')) return
    this.source?.stop()
    this.pointed = null
    this.sheet.forget()
    this.source = of && site ? createSource(of, site, () => this.draw()) : null
  }

  /** @param {ReturnType<MapPage["here"]>} here @param {import("../pure/map/view.js").View|null} view */
  announce(here, view) {
    if (!this.unsaid || !here?.site || !here.axes || !view || !this.source?.grid) return
    const { site, axes, chosen } = here
    if (this.unsaid === 'view') say(part('live'), viewSentence(shown(view, this.source.grid, this.sheet.size()), pixelWords(this.state.pixel, stride(this.source.grid, this.sheet.level()), count, this.second()?.spoken)))
    else if (chosen) {
      const weight = this.sheet.weight()
      if (weight === null && this.store.awaited()) return
      const [query, key] = [axes.rows.tokens[chosen.i], axes.columns.tokens[chosen.j]]
      say(part('live'), cellSentence({ ...chosen, query: query ? spoken(query) : '', key: key ? spoken(key) : '', weight, distance: distanceWords(site, chosen.i, chosen.j), what: this.second()?.spoken }))
    }
    this.unsaid = null
  }

  /** @param {KeyboardEvent} event @param {import("./frame.js").Where} where */
  press(event, { target, typing }) {
    const action = shortcut(event, { typing, plane: target === part('view') })
    if (action) this.act(action, event.shiftKey)
    return action !== null
  }

  /** @param {import("../pure/map/keys.js").Action} action @param {boolean} shift */
  act(action, shift) {
    const { flight } = this
    /** @type {Record<string, () => void>} */
    const acts = {
      in: () => flight.zoom(2), out: () => flight.zoom(0.5), whole: () => flight.whole(), goto: () => this.tools.focus(), heads: () => this.pickHead(),
      next: () => flight.nextLarge(1), previous: () => flight.nextLarge(-1), marks: () => this.change({ marks: !this.state.marks }, 'marks'),
      left: () => flight.move(-1, 0, shift), right: () => flight.move(1, 0, shift), up: () => flight.move(0, -1, shift), down: () => flight.move(0, 1, shift),
      fly: () => flight.flyToChosen(), open: () => this.sheet.arithmetic(),
    }
    const act = acts[action]
    if (act) act()
    else this.colour(/** @type {MapState["scale"]} */ (action))
  }
}

/** What Explore's selection reads beside what both pages have. */
const EXPLORE = /** @type {const} */ ({ way: 'at', hide: false, words: '' })

const page = new MapPage()
page.open()
