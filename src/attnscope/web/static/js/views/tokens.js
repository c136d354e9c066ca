// The tokens of a head: one strip where queries and keys are the same text, two where they are not (cross attention, a decoding step).

import { h, put, say } from '../dom.js'
import { isItsPlace, label, spoken } from '../pure/marks.js'
import { count, weight } from '../pure/number.js'
import { writtenWords } from '../pure/places.js'
import { largest } from '../pure/scale.js'
import { mountFind } from './find.js'
import { mountPatches } from './patches.js'
import { mountSeg } from './seg.js'
import { mountStrip } from './strip.js'

/** @typedef {import("../types.js").Axis} Axis @typedef {import("../types.js").ColourMap} ColourMap @typedef {import("../types.js").Way} Way */
/** @typedef {"both"|"rows"|"columns"} Side which side of the head a strip stands for */
/**
 * values holds a weight for every token of the side that is looked at, −1 where not visible, and is null where there is no picture.
 * @typedef {{rows: Axis, columns: Axis, same: boolean, way: Way, i: number, j: number|null, values: Float32Array|null,
 *   place: (weight: number, token: number) => number, scaleName: string, map: ColourMap, sink: number|null, words?: import("../types.js").State["words"], padded: (side: Side, at: number) => boolean,
 *   picture: (stack: string) => string}} Data picture: the address of the picture of a stack
 */
/** @typedef {{choose: (side: Side, token: number, how: "pointer"|"key") => void, turn: (way: Way) => void, table: () => void, words?: (words: import("../types.js").State["words"]) => void}} On without `words` there is no choice of them */

const BEST = 4
const SEEN = /** @type {const} */ (['rows', 'columns', 'same', 'way', 'i', 'j', 'values', 'scaleName', 'map', 'sink', 'words']) // what the view depends on
const NAMES = { encoder: 'Encoder', decoder: 'Decoder' }

/** @param {HTMLElement} el @param {On} on */
export const mount = (el, on) => new Tokens(el, on)

class Tokens {
  /** @type {Data|null} */ #data = null

  /** @param {HTMLElement} el @param {On} on */
  constructor(el, on) {
    this.where = h('span', { class: 'faint small' })
    this.ways = mountSeg('Which way', /** @type {{value: Way, text: string}[]} */ ([{ value: 'at', text: 'looks at' }, { value: 'by', text: 'looked at by' }]), on.turn)
    this.units = mountSeg('What is shown', /** @type {{value: import("../types.js").State["words"], text: string}[]} */ ([{ value: '', text: 'tokens' }, { value: 'mark', text: 'words' }, { value: 'fold', text: 'fold specials' }]), (words) => on.words?.(words))
    this.units.el.hidden = !on.words
    this.finder = mountFind({
      tokens: () => this.#side()?.axis.tokens ?? [],
      at: () => this.#side()?.chosen ?? 0,
      go: (token) => on.choose(this.#data?.same === false ? (this.#data.way === 'at' ? 'rows' : 'columns') : 'both', token, 'key'),
    })
    this.first = mountStrip('Tokens', (token, how) => on.choose(this.#data?.same === false ? 'rows' : 'both', token, how))
    this.second = mountStrip('Tokens that are looked at', (token, how) => on.choose('columns', token, how))
    this.names = [h('h3', { class: 'small faint' }), h('h3', { class: 'small faint' })]
    this.picture = mountPatches((token) => on.choose(this.#data?.same === false ? 'columns' : 'both', token, 'pointer'))
    this.strips = h('div', { class: 'strips' }, this.picture.el,
      h('div', { class: 'side' }, this.names[0], this.first.el), h('div', { class: 'side' }, this.names[1], this.second.el))
    this.sentence = h('p', { class: 'small best' })
    this.table = h('button', { class: 'btn quiet tiny', type: 'button', onclick: on.table, title: 'All weights of this row (t)' }, 'as a table')
    put(el,
      h('div', { class: 'sec' }, h('h2', {}, 'Tokens'), this.where, h('div', { class: 'end' }, this.finder.el, this.units.el, this.ways.el)),
      this.strips, h('div', { class: 'best-line' }, this.sentence, this.table))
  }

  /** What is built now. */
  axis = () => this.first.axis()

  destroy() {}

  find() {
    this.finder.focus()
  }

  /** The side that is looked from, with the token chosen there. */
  #side() {
    if (!this.#data) return null
    const { rows, columns, way, i, j } = this.#data
    return way === 'at' ? { axis: rows, chosen: i } : { axis: columns, chosen: j ?? i }
  }

  clear() {
    this.#data = null
    this.first.update(null)
    this.second.update(null)
    this.picture.update(null)
    put(this.sentence)
    this.table.hidden = true
    say(this.where, '')
  }

  /** @param {Data} data */
  update(data) {
    const before = this.#data
    this.#data = data
    if (before && SEEN.every((name) => before[name] === data[name])) return
    const { rows, columns, same, way, i, j, values, place, map } = data
    this.strips.classList.toggle('two', !same)
    this.ways.update(way)
    this.units.update(data.words ?? '')
    say(this.where, this.#where(data))
    put(this.sentence, ...this.#words(data)) // before the strips, which take the height that is left
    this.table.hidden = !values
    const one = same && way === 'by' ? (j ?? i) : i
    const shaded = { place, map }
    this.first.update({ ...shaded, axis: rows, chosen: one, values: same || way === 'by' ? values : null, padded: (at) => data.padded(same ? 'both' : 'rows', at) })
    this.second.update(same ? null : { ...shaded, axis: columns, chosen: j ?? -1, values: way === 'at' ? values : null, padded: (at) => data.padded('columns', at) })
    this.names[0].hidden = this.names[1].hidden = same
    if (!same) put(this.names[0], `${NAMES[rows.stack]}: what looks`)
    if (!same) put(this.names[1], `${NAMES[columns.stack]}: what is looked at`)
    this.picture.update(columns.grid ? { axis: columns, src: data.picture(columns.stack), chosen: j, values: way === 'at' ? values : null, place, map } : null)
  }

  /** @param {Data} data */
  #where({ rows, columns, same, way, i, j }) {
    const [axis, at] = way === 'at' || same ? [rows, same && way === 'by' ? (j ?? i) : i] : [columns, j ?? 0]
    const token = axis.tokens[at]
    const written = writtenWords(rows, count)
    const name = token && !isItsPlace(token, at) ? `${spoken(token)}, ` : ''
    return token ? `${name}position ${count(at)}${written ? ` · ${written}` : ''}` : ''
  }

  /** "Looks at t 15 .306, t 21 .239, all others .142". @param {Data} data */
  #words({ values, way, rows, columns, i, j, sink }) {
    const [mine, others] = way === 'at' ? [rows.tokens[i], columns.tokens] : [columns.tokens[j ?? i], rows.tokens]
    if (!values || !mine) return []
    const best = largest(values, BEST)
    if (!best.length) return [way === 'at' ? 'Sees no key: all its weights are 0.' : 'No query sees it.']
    const items = best.map((at) => h('span', { class: 'item' }, isItsPlace(others[at], at) ? null : h('code', { dir: 'auto' }, label(others[at])), h('span', { class: 'faint' }, ` ${count(at)} `), h('b', {}, weight(values[at]))))
    const rest = values.reduce((sum, value, at) => (value > 0 && !best.includes(at) ? sum + value : sum), 0)
    if (way === 'at' && rest > 0) items.push(h('span', { class: 'item' }, 'all others ', h('b', {}, weight(rest))))
    if (way === 'at' && sink) items.push(h('span', { class: 'item' }, 'a learned sink ', h('b', {}, weight(sink))))
    return [way === 'at' ? 'Looks at ' : h('span', {}, h('code', { dir: 'auto' }, label(mine)), ' is looked at most by '), ...items]
  }
}
