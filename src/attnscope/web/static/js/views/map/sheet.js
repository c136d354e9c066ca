// All that is drawn of a map: plane, rulers and bars that share its rows and columns, legend, and what stands beside it.

import { attr, css, h, put } from '../../dom.js'
import { calloutsOf, distanceWords, marksOf, mayBeSeen } from '../../pure/map/marks.js'
import { largestOfRows, pixelWords, scaleOf, ticks, widened } from '../../pure/map/paint.js'
import { levelOf, stride } from '../../pure/map/view.js'
import { label } from '../../pure/marks.js'
import { count } from '../../pure/number.js'
import { aboutOf, stretched, times } from '../../pure/values.js'
import * as api from '../../api.js'
import { mount as mountReceipt } from '../receipt.js'
import { card, progressText } from '../card.js'
import { mountFacts } from '../facts.js'
import { mount as mountHere } from './here.js'
import { mount as mountLargest } from './largest.js'
import { mount as mountLens, SIDE } from './lens.js'
import { mount as mountPlane } from './plane.js'
import { mountRuler } from './rulers.js'
import { mountSide } from './sides.js'

/** @typedef {import("../../types.js").Site} Site @typedef {import("../../types.js").Result} Result @typedef {import("../../types.js").Axis} Axis @typedef {{i: number, j: number}} Cell @typedef {import("../../pure/map/view.js").View} View */
/** @typedef {{result: Result, at: Site|import("../../types.js").Missing|null, head: number, site: Site|null, axes: {rows: Axis, columns: Axis, same: boolean}|null, chosen: Cell|null}} Here */
/**
 * @typedef {{session: import("../../session.js").Session, here: Here|null, source: import("../../mapsource.js").Source|null, second: import("../../pure/values.js").Second|null, view: View|null, state: import("../../types.js").MapState,
 *   look: import("../../look.js").Look, name: string, numbers: ReturnType<import("../../numbers.js").numbersOf>|null, pointed: {cell: Cell, value: number|null, cells: number}|null,
 *   cells: import("../../types.js").LargeCell[]|undefined, store: ReturnType<import("../../store.js").createStore>}} Data
 */
/**
 * @typedef {Omit<import("./plane.js").On, "open"> & {step: (cell: Cell) => void, fly: (cell: Cell) => void, weights: () => void, list: (list: "apart"|"all") => void, marks: (on: boolean) => void, again: () => void, cancel: () => void, resume: () => void, draw: () => void}} On
 */

const LONG = { entropy: 56, received: 32 } // px of the longest bars
const STOPS = 24

/** @param {{plane: HTMLElement, map: HTMLElement, side: HTMLElement}} parts @param {On} on */
export const mount = (parts, on) => new Sheet(parts, on)

class Sheet {
  /** @type {Data|null} */ #data = null
  /** @type {Float32Array|undefined} */ #weights
  /** @type {Float32Array|undefined} the same as they are drawn */ #lens
  #lensRows = { start: 0, size: 0 }
  #lensColumns = { start: 0, size: 0 }

  /** @param {{plane: HTMLElement, map: HTMLElement, side: HTMLElement}} parts @param {On} on */
  constructor({ plane, map, side }, on) {
    this.on = on
    this.map = map
    this.side = side
    this.plane = mountPlane(plane, { ...on, open: (cell) => this.arithmetic(cell) })
    const [top, left, entropy, received] = ['rt', 'rl', 'ent', 'rec'].map((name) => /** @type {HTMLElement} */ (map.querySelector(`.${name}`)))
    this.rulers = { top: mountRuler(top, 'top'), left: mountRuler(left, 'left') }
    this.bars = { right: mountSide(entropy, 'right', { name: 'Entropy of each query', how: 'mean', long: LONG.entropy }), bottom: mountSide(received, 'bottom', { name: 'Weight received by each key', how: 'max', long: LONG.received }) }
    this.cap = /** @type {HTMLElement} */ (map.querySelector('.cap.received'))
    this.cards = /** @type {HTMLElement} */ (map.querySelector('.cards'))
    this.ramp = h('i', { class: 'legend-ramp', 'aria-hidden': 'true' })
    this.legend = h('div', { class: 'legend' }, this.ramp, h('div'))
    this.means = h('span', { class: 'small dim num' })
    this.wide = h('span', { class: 'small faint num' })
    this.tick = h('input', { type: 'checkbox', onchange: () => on.marks(this.tick.checked) })
    this.facts = mountFacts()
    put(/** @type {HTMLElement} */ (map.querySelector('.foot')), this.legend, h('div', { class: 'said' }, this.means, this.wide), h('label', { class: 'check small' }, this.tick, ' Marks'), this.facts.el)
    const sections = ['here', 'lens-box', 'largest'].map((name) => h('section', { class: name }))
    put(side, ...sections)
    this.here = mountHere(sections[0], (cell) => on.fly(cell))
    this.lens = mountLens(sections[1], { choose: on.step, fly: () => this.#chosen() && on.fly(/** @type {Cell} */ (this.#chosen())), open: (cell) => this.arithmetic(cell) })
    this.largest = mountLargest(sections[2], { fly: on.fly, list: on.list })
    new ResizeObserver(() => on.draw()).observe(map)
  }

  size() {
    return this.plane.size()
  }

  level() {
    return this.plane.level()
  }

  forget() {
    this.plane.forget()
  }

  /** The exact weight of the chosen cell, under 0 where it is not visible, null on its way. */
  weight() {
    const chosen = this.#chosen()
    return chosen ? this.#weightOf(chosen) : null
  }

  #chosen() {
    return this.#data?.here?.chosen ?? null
  }

  /** @param {Data} data */
  update(data) {
    this.#data = data
    const { here, source, view, session } = data
    const ready = Boolean(here?.site && source?.grid && view && (data.second || !data.state.values) && !source.waits(levelOf(view, source.grid, devicePixelRatio)))
    for (const el of [this.map, this.side]) attr(el, 'data-blank', ready ? null : '')
    this.facts.update(here?.site ?? null, here?.head ?? 0)
    this.#shape(here?.site ?? null)
    if (!ready || !here?.site || !here.axes || !source?.grid || !view) return this.#nothing(data)
    put(this.cards)
    const problem = source.tiles.problem() ?? session.problem
    if (problem) put(this.cards, this.#card(problem, session.problem === null))
    const { site, axes, chosen } = here
    const own = data.numbers?.sides({ site, head: here.head })
    const sides = own && data.second ? stretched(own, data.second, this.#rowsOf(data)) : own
    this.#lensOf(data, chosen)
    this.#plane(data, { site, axes, chosen, view, sides })
    this.#legend(data)
    const word = (/** @type {Axis} */ axis) => (/** @type {number} */ at) => (axis.tokens[at] ? label(axis.tokens[at]) : '')
    const { width, height } = this.size()
    const marks = data.state.marks ? marksOf(site, axes).flatMap((mark) => (mark.kind === 'rule' ? [mark] : [])) : []
    const pointed = data.pointed?.cell ?? null
    const rules = (/** @type {"row"|"column"} */ side) => marks.filter((mark) => mark.side === side)
    this.rulers.top.update({ from: view.col, scale: view.scale, length: width, cells: site.tk, word: word(axes.columns), chosen: chosen?.j ?? null, pointed: pointed?.j ?? null, rules: rules('column') })
    this.rulers.left.update({ from: view.row, scale: view.scale, length: height, cells: site.tq, word: word(axes.rows), chosen: chosen?.i ?? null, pointed: pointed?.i ?? null, rules: rules('row') })
    this.#bars(data, { site, chosen, view, sides })
    this.#beside(data, { site, axes, chosen, sides })
  }

  /** @param {Data} data @param {{site: Site, axes: {rows: Axis, columns: Axis}, chosen: Cell|null, view: View, sides: import("../../types.js").Sides|undefined}} at */
  #plane({ source, second, state, look, name }, { site, axes, chosen, view, sides }) {
    if (!source?.grid) return
    const marks = state.marks ? marksOf(site, axes) : []
    this.plane.update({
      grid: source.grid, view, tiles: source.tiles, waits: source.waits, seen: mayBeSeen(site), pixel: state.pixel, scale: state.scale, largest: sides?.largest, most: second?.most ?? 1, map: look.map,
      marks, callouts: state.marks && sides && !second ? calloutsOf(site, sides) : [], offset: site.offset ?? 0, chosen,
      title: `Map of ${name.toLowerCase()}${second ? `, ${second.spoken}` : ''}. Arrows move, plus and minus zoom, 0 shows the whole`,
    })
  }

  /** @param {Data} data @param {{site: Site, chosen: Cell|null, view: View, sides: import("../../types.js").Sides|undefined}} at */
  #bars({ pointed, second }, { site, chosen, view, sides }) {
    const { width, height } = this.size()
    const [colour, accent] = ['.ent', '.ent .amount'].map((name) => getComputedStyle(/** @type {HTMLElement} */ (this.map.querySelector(name))).color)
    const bar = (/** @type {Float32Array} */ values, /** @type {number} */ from, /** @type {number} */ length, /** @type {number} */ most, /** @type {number|null} */ at, /** @type {string} */ name = '') => ({ values, from, scale: view.scale, length, most, chosen: at, name: name || undefined, colour, accent })
    const at = pointed?.cell ?? chosen
    this.bars.right.update(sides ? bar(sides.entropy, view.row, height, Math.log(Math.max(2, site.tk)), at?.i ?? null) : null)
    this.bars.bottom.update(sides ? bar(sides.received, view.col, width, fullBar(sides.received), at?.j ?? null, second ? `What each key receives, ${second.spoken}` : '') : null)
  }

  /** @param {Data} data @param {{site: Site, axes: {rows: Axis, columns: Axis}, chosen: Cell|null, sides: import("../../types.js").Sides|undefined}} at */
  #beside(data, { site, axes, chosen, sides }) {
    const { pointed, state, look, source, second, view, cells, name } = data
    if (!source?.grid || !view) return
    const point = pointed?.cell ?? chosen
    const block = pointed && pointed.cells > 1 && pointed.value !== null ? { value: pointed.value, cells: pointed.cells, words: blockWords(state.pixel, pointed.cells) } : null
    const weight = !point ? null : pointed && pointed.cells === 1 ? pointed.value : this.#weightOf(point)
    const product = point && second ? { weight: this.#valueAt(point, this.#weights), length: second.lengths[point.j], name: second.name } : null
    this.here.update({ site, ...axes, point, pointing: pointed !== null, weight, product, block, distance: point ? distanceWords(site, point.i, point.j) : '', sides })
    this.here.whole({ grid: source.grid, view, size: this.size(), chosen, picture: this.plane.whole() })
    const colour = scaleOf({ name: state.scale === 'rank' ? 'log' : state.scale, reduction: 'max', largest: largestOfRows(sides?.largest), sorted: new Float32Array(0), most: second?.most })
    this.lens.update({
      grid: source.grid, chosen, rows: this.#lensRows, columns: this.#lensColumns, weights: this.#lens, colour: (w, i) => colour(w, i, i + 1), map: look.map, axes,
      sink: site.sinks ? (sides?.sink ?? null) : null, seeing: (i) => (sides?.largest[i] ?? 1) > 0, most: second?.most ?? 1, whole: !second, scale: state.scale === 'rank' ? 'log' : '',
    })
    const problem = data.store.problem(`largest ${source.key} ${state.list}`)
    this.largest.update({ cells, problem: problem ? problem.message : '', site, head: source.head, axes, chosen, list: state.list, second, title: name })
  }

  /** The cells around the chosen one, as exact numbers. @param {Data} data @param {Cell|null} chosen */
  #lensOf({ numbers, here, second }, chosen) {
    if (!here?.site || !numbers || !chosen) return
    const { tq, tk } = here.site
    const around = (/** @type {number} */ at, /** @type {number} */ cells) => ({ start: Math.max(0, Math.min(cells - SIDE, at - SIDE / 2)), size: Math.min(SIDE, cells) })
    this.#lensRows = around(chosen.i, tq)
    this.#lensColumns = around(chosen.j, tk)
    this.#weights = numbers.block({ site: here.site, head: here.head }, this.#lensRows, this.#lensColumns)
    this.#lens = this.#weights && second ? times(this.#weights, second.lengths, this.#lensColumns.start, this.#lensColumns.size) : this.#weights
  }

  /** The largest product of each row, asked for where colours need it. @param {Data} data */
  #rowsOf({ source, state, store }) {
    return source?.made && state.scale === 'row' ? store.get(`rows ${source.key}`, () => api.largestOfRows(source.of))?.values : undefined
  }

  /** @param {Cell} cell */
  #weightOf(cell) {
    return this.#valueAt(cell, this.#lens)
  }

  /** @param {Cell} cell @param {Float32Array|undefined} lens */
  #valueAt({ i, j }, lens) {
    const [r, c] = [i - this.#lensRows.start, j - this.#lensColumns.start]
    const inside = r >= 0 && c >= 0 && r < this.#lensRows.size && c < this.#lensColumns.size
    return inside && lens ? lens[r * this.#lensColumns.size + c] : null
  }

  /** The arithmetic of a cell, of the chosen one where none is named, in a dialog. @param {Cell} [cell] */
  arithmetic(cell) {
    const data = this.#data
    const { here, numbers, store } = data ?? {}
    const at = cell ?? here?.chosen
    if (!here?.site || !here.axes || !at || !numbers || !store) return
    const { site, axes } = here
    const { i, j } = at
    const body = h('div', { class: 'cell' })
    const el = h('dialog', { class: 'arithmetic', 'aria-label': 'Arithmetic of the chosen cell' }, body, h('div', { class: 'end' }, h('button', { class: 'btn', type: 'button', onclick: () => el.close() }, 'Close')))
    el.addEventListener('click', (event) => event.target === el && el.close())
    el.addEventListener('close', () => el.remove())
    document.body.append(el)
    el.showModal()
    const receipt = mountReceipt(body)
    const show = () => {
      if (!el.open) return
      const cell = numbers.cell({ site, head: here.head }, i, j)
      if (cell) receipt.update({ cell, query: axes.rows.tokens[i] ? label(axes.rows.tokens[i]) : '', key: axes.columns.tokens[j] ? label(axes.columns.tokens[j]) : '' })
      else requestAnimationFrame(show)
    }
    show()
  }

  /** A wide grid has a low plane. @param {Site|null} site */
  #shape(site) {
    css(this.map, { '--high': site ? Math.max(0.22, Math.min(1, site.tq / site.tk)).toFixed(4) : '1', '--wide': site ? Math.max(0.22, Math.min(1, site.tk / site.tq)).toFixed(4) : '1' })
  }

  /** @param {Data} data */
  #legend({ state, look, source, second, here }) {
    this.ramp.style.backgroundImage = `linear-gradient(to right, ${Array.from({ length: STOPS + 1 }, (_, at) => look.map.css(at / STOPS)).join(', ')})`
    put(/** @type {HTMLElement} */ (this.legend.children[1]), ...ticks(state.scale, second?.most).map((tick) => h('span', {}, tick)))
    const cells = source?.grid ? stride(source.grid, this.level()) : 1
    const about = second && here?.site ? aboutOf(here.site) : ''
    put(this.means, source?.grid ? pixelWords(state.pixel, cells, count, second?.name) : '')
    put(this.wide, source && !source.made ? `Coarser pixels are being made: ${madeWords(source.progress)}` : widened(state.pixel, cells, count) || about)
    attr(this.means, 'title', about || null)
    put(this.cap, 'received', ...(second ? [h('br'), second.name.replace('weight ', '')] : []))
    this.tick.checked = state.marks
  }

  /** Why there is no map, or how far it is. @param {Data} data */
  #nothing({ session, here, source, state, numbers }) {
    const lengths = state.values && here?.site ? numbers?.problem({ site: here.site, head: here.head }, 0, 0) : null
    const problem = source?.problem ?? session.problem ?? lengths
    if (problem) return put(this.cards, this.#card(problem, problem.status !== REFUSED))
    if (here && !here.site) {
      const reason = here.at && 'reason' in here.at ? here.at.reason : 'This run has no attention to show.'
      return put(this.cards, card({ title: 'Nothing to show', text: reason }))
    }
    if (here?.site?.not_drawn) return put(this.cards, card({ title: 'No single weights', text: here.site.not_drawn }))
    if (here?.site?.lengths.why && state.values) {
      const hint = 'In Python, site.mixes(head, projection=W) takes the weight of the layer after the heads where v was kept.'
      return put(this.cards, card({ title: 'No weight × value here', text: aboutOf(here.site), hint, button: { label: 'Show weights', act: this.on.weights } }))
    }
    if (session.progress) return put(this.cards, card({ title: 'Opening', text: progressText(session.progress), bar: session.progress }))
    const progress = source?.progress
    if (source?.cancelled) {
      const text = progress ? `${count(progress.done)} of ${count(progress.total)} queries were walked. What was made of them is kept.` : ''
      return put(this.cards, card({ title: 'The map was cancelled', text, button: { label: 'Go on', act: this.on.resume } }))
    }
    if (progress && progress.state === 'making') {
      const text = `${madeWords(progress)}. Coarse levels are made once and kept.`
      return put(this.cards, card({ title: 'Making the map', text, bar: progress, button: { label: 'Cancel', act: this.on.cancel } }))
    }
  }

  /** @param {import("../../api.js").ApiError} problem @param {boolean} run whether running again may help */
  #card(problem, run) {
    const button = run ? { label: 'Try again', act: this.on.again } : null
    return card({ title: problem.title, text: problem.message, hint: problem.hint, bad: problem.status !== api.CALM, button })
  }
}

/** How far the walk is. @param {import("../../types.js").MapProgress|null} progress */
const madeWords = (progress) => `${count(progress?.done ?? 0)} of ${count(progress?.total ?? 0)} queries`

const REFUSED = 409 // a head whose certificate failed: asking again changes nothing

/** @param {"max"|"mean"|"sum"} pixel @param {number} cells */
function blockWords(pixel, cells) {
  const of = `${count(cells)} × ${count(cells)} cells`
  return pixel === 'max' ? `largest of ${of}` : `${pixel} of ${of}`
}

/** The amount of a full bar: twice what all but the first in a hundred reach, so that sinks do not make all others vanish; their own bars are cut. @param {Float32Array} values */
function fullBar(values) {
  const known = FULL.get(values)
  if (known !== undefined) return known
  const sorted = values.filter((value) => value >= 0).sort()
  const largest = sorted[sorted.length - 1] ?? 0
  const most = 2 * (sorted[Math.floor((sorted.length - 1) * 0.99)] ?? 0)
  const full = most > 0 && most < largest ? most : largest
  FULL.set(values, full)
  return full
}

/** @type {WeakMap<Float32Array, number>} sorting a long text at each frame would be seen */
const FULL = new WeakMap()
