// The page Map: one state, kept in the address, drawn by the views; every choice makes a new state.

import * as api from './api.js'
import { mountBar } from './bar.js'
import { attr, say } from './dom.js'
import { createHistory } from './history.js'
import { look, onSystemTheme } from './look.js'
import { Flight } from './mapflight.js'
import { createSource } from './mapsource.js'
import { numbersOf } from './numbers.js'
import { KEYS, shortcut } from './pure/map/keys.js'
import { distanceWords } from './pure/map/marks.js'
import { format, parse } from './pure/map/url.js'
import { held, isWhole, LARGEST_CELL, showing, shown, stride, whole } from './pure/map/view.js'
import { pixelWords } from './pure/map/paint.js'
import { cellSentence, viewSentence } from './pure/map/words.js'
import { spoken } from './pure/marks.js'
import { count } from './pure/number.js'
import { sidesOf } from './pure/places.js'
import { address, isSite, longName } from './pure/sites.js'
import { resolve } from './pure/selection.js'
import { asProblem, createSession } from './session.js'
import { createStore } from './store.js'
import { mount as mountBadge } from './views/badge.js'
import * as dialogs from './views/dialogs.js'
import { chooseHead } from './views/map/heads.js'
import { mount as mountSheet } from './views/map/sheet.js'
import { mount as mountTools } from './views/map/tools.js'

/** @typedef {import("./types.js").MapState} MapState @typedef {import("./types.js").LargeCell} LargeCell @typedef {{i: number, j: number}} Cell */

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

class MapPage {
  /** @type {import("./types.js").Model[]} */ models = []
  /** @type {import("./types.js").Sample|null} */ sample = null
  /** @type {import("./mapsource.js").Source|null} */ source = null
  /** @type {{cell: Cell, value: number|null, cells: number}|null} what is pointed at */ pointed = null
  /** @type {"cell"|"view"|null} what is to be announced once it is drawn */ unsaid = null
  plain = false // whether the list of the largest holds the first token and the diagonal
  drawing = 0

  constructor() {
    const draw = () => this.draw()
    this.history = createHistory({ parse, format }, (state) => this.went(state))
    this.state = this.history.read()
    this.look = look(this.state.theme)
    this.store = createStore(draw)
    const { session, start } = createSession(draw, (model) => this.recorded(model))
    this.session = session
    this.start = start
    this.flight = new Flight(this)
    this.tools = mountTools(part('tools'), {
      heads: () => this.pickHead(),
      pixel: (pixel) => this.change({ pixel, ...(pixel !== 'max' && this.state.scale === 'row' ? { scale: 'log' } : {}) }, 'pixel'),
      scale: (scale) => this.colour(scale),
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
      plain: (plain) => this.list(plain),
      marks: (marks) => this.change({ marks }, 'marks'),
      again: () => this.again(),
      cancel: () => this.source?.cancel(),
      resume: () => this.source?.resume(),
      draw,
    })
    this.badge = mountBadge(part('badge'))
    this.bar = mountBar({ link: () => this.link(), theme: () => this.theme(), keys: () => KEYS })
    this.listen()
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

  /** @param {string} model */
  recorded(model) {
    return this.models.some(({ id, recorded }) => id === model && recorded === true)
  }

  /** Back or forward. @param {MapState} state */
  went(state) {
    const model = state.model ?? this.sample?.model ?? ''
    const text = this.recorded(model) ? null : (state.text ?? this.sample?.text ?? '')
    const other = model !== this.state.model || text !== this.state.text
    this.state = { ...state, model, text }
    if (other) this.start(model, text ?? '')
    this.relook()
  }

  /** @param {Partial<MapState>} patch @param {string} kind of step in the history; "" completes the present one */
  change(patch, kind) {
    this.state = { ...this.state, ...patch }
    const { view } = this.state
    if (view && this.source?.grid && isWhole(view, this.source.grid, this.sheet.size())) this.state.view = null
    this.history.write(this.state, kind)
    this.draw()
  }

  again() {
    this.store.clear()
    this.source?.stop()
    this.source = null
    this.start(this.state.model ?? '', this.state.text ?? '')
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

  /** @param {boolean} plain */
  list(plain) {
    this.plain = plain
    this.draw()
  }

  /** @returns {LargeCell[]|undefined} */
  largest() {
    const [run, source] = [this.session.run, this.source]
    if (!run || !source?.grid) return undefined
    const { site, head } = source
    const left = this.plain || site.kind === 'cross' ? { skipFirst: !this.plain, near: 0 } : { skipFirst: true, near: 1 }
    return this.store.get(`largest ${source.key} ${this.plain}`, () => api.largestCells(run.id, site.site, head, { n: 50, ...left }))
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

  /** Draws once before the next frame, however often it is asked for. */
  draw() {
    if (this.drawing) return
    attr(part('page'), 'aria-busy', true)
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0
      this.drawNow()
      if (!this.drawing) attr(part('page'), 'aria-busy', this.busy())
    })
  }

  busy() {
    const { session, source } = this
    return session.busy || this.store.awaited() > 0 || (source !== null && !source.problem && !source.cancelled && (!source.grid || source.tiles.awaited() > 0))
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
    this.sheet.update({ session, here, source, view, state, look: colours, name, numbers, pointed: this.pointed, cells, plain: this.plain, store: this.store })
    document.title = here ? `${name} · Map · attnscope` : 'Map · attnscope'
    this.announce(here, view)
  }

  /** Another head, or another run: another map. @param {ReturnType<MapPage["here"]>} here */
  follow(here) {
    const run = this.session.run
    const key = run && here?.site && !here.site.not_drawn ? `${run.id} ${here.site.site} ${here.head}` : ''
    if (key === (this.source?.key ?? '')) return
    this.source?.stop()
    this.pointed = null
    this.sheet.forget()
    this.source = key && run && here?.site ? createSource(run.id, here.site, here.head, () => this.draw()) : null
  }

  /** @param {ReturnType<MapPage["here"]>} here @param {import("./pure/map/view.js").View|null} view */
  announce(here, view) {
    if (!this.unsaid || !here?.site || !here.axes || !view || !this.source?.grid) return
    const { site, axes, chosen } = here
    if (this.unsaid === 'view') say(part('live'), viewSentence(shown(view, this.source.grid, this.sheet.size()), pixelWords(this.state.pixel, stride(this.source.grid, this.sheet.level()), count)))
    else if (chosen) {
      const weight = this.sheet.weight()
      if (weight === null && this.store.awaited()) return
      const [query, key] = [axes.rows.tokens[chosen.i], axes.columns.tokens[chosen.j]]
      say(part('live'), cellSentence({ ...chosen, query: query ? spoken(query) : '', key: key ? spoken(key) : '', weight, distance: distanceWords(site, chosen.i, chosen.j) }))
    }
    this.unsaid = null
  }

  theme() {
    this.change({ theme: this.look.dark ? 'light' : 'dark' }, 'theme')
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
    addEventListener('resize', () => this.draw())
    addEventListener('keydown', (event) => {
      const target = event.target instanceof HTMLElement ? event.target : null
      const typing = target?.matches('textarea, input:not([type=checkbox]), select') ?? false
      const action = dialogs.open() ? null : shortcut(event, { typing, plane: target === part('view') })
      if (action) {
        event.preventDefault()
        this.act(action, event.shiftKey)
      }
    })
  }

  /** @param {import("./pure/map/keys.js").Action} action @param {boolean} shift */
  act(action, shift) {
    const { flight } = this
    /** @type {Record<string, () => void>} */
    const acts = {
      in: () => flight.zoom(2), out: () => flight.zoom(0.5), whole: () => flight.whole(), goto: () => this.tools.focus(), heads: () => this.pickHead(),
      next: () => flight.nextLarge(1), previous: () => flight.nextLarge(-1), marks: () => this.change({ marks: !this.state.marks }, 'marks'),
      left: () => flight.move(-1, 0, shift), right: () => flight.move(1, 0, shift), up: () => flight.move(0, -1, shift), down: () => flight.move(0, 1, shift),
      fly: () => flight.flyToChosen(), open: () => this.sheet.arithmetic(),
      copy: () => this.bar.copy(), theme: () => this.theme(), keys: () => this.bar.keys(),
    }
    const act = acts[action]
    if (act) act()
    else this.colour(/** @type {MapState["scale"]} */ (action))
  }
}

/** What Explore's selection reads beside what both pages have. */
const EXPLORE = /** @type {const} */ ({ way: 'at', hide: false })

const page = new MapPage()
page.open()
