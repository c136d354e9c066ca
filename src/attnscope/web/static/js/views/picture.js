// The middle panel: one head's heatmap with its title, scales and foot, or a card that says why there is none.

import { h, put } from '../dom.js'
import { isItsPlace, label, onlyMarks, spoken } from '../pure/marks.js'
import { windowOver, windowWithin } from '../pure/layout.js'
import { count, fixed, limit, two } from '../pure/number.js'
import { isPaddedRow, isPadding, sidesOf } from '../pure/places.js'
import { largestOfRows, makeScale, rankIn, SCALES, sortedVisible } from '../pure/scale.js'
import { strongest } from '../pure/selection.js'
import { aboutOf, nameOf, spokenOf, times } from '../pure/values.js'
import { isSite, listed, longName, nearest } from '../pure/sites.js'
import { CALM } from '../api.js'
import { card, showProgress } from './card.js'
import { certificateWords, mountFacts } from './facts.js'
import { mount as mountFoot } from './foot.js'
import { mount as mountHeatmap } from './heatmap.js'
import { mountSeg } from './seg.js'

/** @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Site} Site @typedef {import("../types.js").Missing} Missing @typedef {import("../types.js").State} State */
/** @typedef {import("../types.js").Span} Span @typedef {import("./heatmap.js").Word} Word @typedef {import("../types.js").Sides} Sides */
/** @typedef {ReturnType<import("../numbers.js").numbersOf>} Numbers */
/** @typedef {{result: Result, numbers: Numbers, at: Site|Missing|null, head: number, i: number, j: number|null, state: State, look: import("../look.js").Look}} Data */
/**
 * What the other views need of the picture: the weights of the chosen row or column, their colour's place on the map, the key its row looks at most.
 * @typedef {{site: Site, values: Float32Array|null, what: string, place: (weight: number, token: number) => number, best: number, sink: number|null,
 *   query: (i: number) => Word, key: (j: number) => Word}} Seen
 */
/**
 * @typedef {{chooseCell: (i: number, j: number, how: "pointer"|"key") => void, leave: () => void, scale: (scale: import("../types.js").ScaleName) => void, values: (values: boolean) => void,
 *   hide: (hide: boolean) => void, chooseHead: (site: Site, head: number) => void, offer: (text: string) => void, again: () => void, cancel: () => void, draw: () => void}} On
 */

/** @param {HTMLElement} el @param {On} on */
export const createPicture = (el, on) => new Picture(el, on)

class Picture {
  /** @type {{rows: Span, columns: Span}|null} */ #window = null
  /** @type {{data: Data, seen: Seen}|null} */ #shown = null
  #waiting = false
  #title = ''
  /** @type {WeakMap<Float32Array, Float32Array>} */ #sorted = new WeakMap()
  /** @type {WeakMap<import("../types.js").Token[], number>} */ #widths = new WeakMap()

  /** @param {HTMLElement} el @param {On} on */
  constructor(el, on) {
    this.on = on
    this.heading = h('h2', {})
    this.about = h('span', { class: 'small dim about' })
    this.facts = mountFacts()
    this.scales = mountSeg('Colour scale', SCALES.map((value) => ({ value, text: value })), on.scale)
    const [map, foot] = [h('div', { class: 'map-box' }), h('div', { class: 'foot' })]
    this.kinds = mountSeg('What is drawn', [{ value: 'weights', text: 'weight' }, { value: 'values', text: 'weight × value' }], (kind) => on.values(kind === 'values'))
    this.body = h('div', { class: 'map-body' }, map, foot)
    this.cards = h('div', { class: 'cards', hidden: true })
    put(el, h('div', { class: 'sec' }, this.heading, this.about, h('div', { class: 'end' }, this.kinds.el, this.scales.el)), this.facts.el, this.body, this.cards)
    this.heatmap = mountHeatmap(map, {
      choose: on.chooseCell,
      leave: on.leave,
      resize: on.draw,
      row: (i) => this.#shown?.data.numbers.row(this.#head(), i),
    }, () => this.body.clientHeight - foot.offsetHeight - 8)
    this.foot = mountFoot(foot, { hide: on.hide })
  }

  title = () => this.#title
  waiting = () => this.#waiting
  sentence = () => this.heatmap.sentence()

  focus() {
    if (!this.body.hidden) this.heatmap.focus()
  }

  /** @param {{problem: import("../api.js").ApiError|null, progress: import("../types.js").Progress|null, model: import("../types.js").Model|undefined, sample: import("../types.js").Sample|null}} why */
  nothing({ problem, progress, model, sample }) {
    this.#shown = null
    this.#waiting = false
    this.#show('', '', false)
    if (!problem) return progress ? showProgress(this.cards, progress, model, this.on.cancel) : put(this.cards)
    const calm = problem.status === CALM
    const offer = problem.offer ?? (calm && sample ? { label: 'Use the sample line', text: sample.text } : null)
    put(this.cards, card({
      title: problem.title, text: problem.message, hint: problem.hint, bad: !calm,
      button: offer && { label: offer.label, act: () => this.on.offer(offer.text) },
    }))
  }

  /** @param {Data} data @returns {Seen|null} null while numbers are on their way, and where there is nothing to show */
  update(data) {
    const { at, head, result } = data
    this.#waiting = false
    if (!isSite(at)) return this.#missing(at, result)
    this.facts.update(at, head)
    if (at.certificate[head]?.verdict === 'refused') return this.#refused(at, head, result)
    if (at.not_drawn || at.certificate[head]?.verdict === 'not kept') return this.#left(at, head, result)
    const { i, j, numbers } = data
    const problem = numbers.problem({ site: at, head }, i, j ?? 0)
    if (problem) return this.#failed(problem)
    const wasHidden = this.body.hidden
    this.body.hidden = false
    const seen = this.#draw(data, at)
    this.#waiting = !seen
    if (seen) this.#shown = { data, seen }
    else if (wasHidden) this.body.hidden = true
    return seen ?? null
  }

  /** @param {Data} data @param {Site} site @returns {Seen|null} */
  #draw(data, site) {
    const { head, i, j, numbers, state, look, result } = data
    const of = { site, head }
    const wide = result.unit === 'token' || state.words !== ''
    const { rows: down, columns: across, same } = sidesOf(site, result)
    const labels = { left: this.#labelWidth(down.tokens), top: this.#labelWidth(across.tokens) }
    const [first, end] = site.held ?? [0, site.tq]
    const room = this.heatmap.capacity({ rows: end - first, columns: site.tk, labels, upright: wide, sink: site.sinks })
    const rows = windowWithin(this.#window?.rows ?? null, room.rows, first, end, i)
    const columns = windowOver(this.#window?.columns ?? null, room.columns, site.tk, j ?? i)
    const [weights, sides, row] = [numbers.block(of, rows, columns), numbers.sides(of), numbers.row(of, i)]
    const line = state.way === 'at' ? row : j === null ? undefined : numbers.column(of, j)
    if (!weights || !sides || !row) return null
    if (state.way === 'by' && j !== null && !line) return null
    this.#window = { rows, columns }
    const lengths = (state.values && sides.length) || null
    const values = lengths && { name: nameOf(site), spoken: spokenOf(site), of: times(weights, lengths, columns.start, columns.size) }
    const { scale, most } = this.#scale(data, of, values?.of ?? weights, columns.size, rows.start, sides, lengths)
    const rowOf = (/** @type {Float32Array|undefined} */ given) => (given && lengths ? times(given, lengths, 0) : given)
    const [query, key] = [wordOf(down), wordOf(across)]
    this.#show(`${longName(site, result)} · Head ${head}`, this.#about(site, head, rows, columns), true)
    this.scales.update(state.scale)
    this.kinds.update(state.values ? 'values' : 'weights')
    this.heatmap.update({
      title: this.#title, rows, columns, totalRows: site.tq, totalColumns: site.tk, weights, values, scale, scaleName: state.scale, map: look.map, page: look.page,
      edge: ['causal', 'everything'].includes(site.sight.form) ? 0 : look.edge, sink: site.sinks,
      down: { padded: (r) => isPaddedRow(site, r), generated: down.generated },
      across: { padded: (c) => isPadding(site, c), generated: same ? across.generated : null },
      hide: state.hide, i, j, query, key, sides, rank: (r, c) => rankOf(rowOf(numbers.row(of, r)), c),
    })
    const total = sides.received.reduce((sum, amount) => sum + amount, 0)
    this.foot.update({ scale: state.scale, map: look.map, hide: state.hide, held: total > 0 ? sides.received[0] / total : null, site, window: rows.size < site.tq, written: down.generated, what: values?.name ?? 'weight', most, about: state.values ? aboutOf(site) : '' })
    const place = (/** @type {number} */ weight, /** @type {number} */ token) => scale(weight, state.way === 'at' ? i : token)
    const along = line && lengths ? (state.way === 'at' ? times(line, lengths, 0) : times(line, lengths, j ?? i, 1)) : line
    return { site, values: along ?? null, what: values?.name ?? 'weight', place, best: strongest(row, i), sink: sides.sink?.[i] || null, query, key }
  }

  /** @param {Data} data @param {{site: Site, head: number}} of @param {Float32Array} block @param {number} width @param {number} first @param {Sides} sides @param {Float32Array|null} lengths where weight times value is drawn */
  #scale({ state, numbers }, of, block, width, first, sides, lengths) {
    const whole = numbers.whole(of)
    const all = whole && lengths ? times(whole, lengths, 0, of.site.tk) : whole
    const own = (lengths ? null : sides.largest) ?? (all ? largestOfRows(all, of.site.tk) : null)
    const part = own ? null : largestOfRows(block, width)
    const largest = (/** @type {number} */ row) => (own ? own[row] : (part?.[row - first] ?? 1))
    const source = all ?? block
    const sorted = () => {
      const known = this.#sorted.get(source) ?? sortedVisible(source)
      this.#sorted.set(source, known)
      return known
    }
    const most = lengths ? (own ?? part ?? new Float32Array()).reduce((high, value) => Math.max(high, value), 0) : null
    return { scale: makeScale(state.scale, { largest, sorted, most: most ?? 1 }), most }
  }

  /** @param {Site} site @param {number} head @param {Span} rows @param {Span} columns */
  #about(site, head, rows, columns) {
    const part = rows.size < site.tq || columns.size < site.tk
    if (part) return `rows ${range(rows)}, columns ${range(columns)} of ${count(site.tk)}`
    const entropy = site.entropy[head]
    return entropy !== null && Number.isFinite(entropy) ? `mean entropy ${two(entropy)} nats` : ''
  }

  /** @param {Missing|null} at @param {Result} result */
  #missing(at, result) {
    this.facts.update(null, 0)
    const layer = at?.layer ?? 0
    const near = nearest(layer, result)
    this.#show(`Layer ${layer}`, '', false)
    const have = result.sites.length ? ` Layers ${listed([...new Set(result.sites.map((site) => site.layer))])} are shown.` : ''
    put(this.cards, card({
      title: !at ? 'No attention was recorded' : /no softmax/i.test(at.reason) ? `No softmax attention in layer ${layer}` : `Layer ${layer} is not shown`,
      text: at ? `${at.reason.replace(/\.$/, '')}.${have}` : 'The model made no call that could be listened to.',
      button: near && { label: `Go to layer ${near.layer}`, act: () => this.on.chooseHead(near, 0) },
    }))
    return null
  }

  /** A head whose weights were not kept. @param {Site} site @param {number} head @param {Result} result */
  #left(site, head, result) {
    const name = longName(site, result)
    this.#show(`${name} · Head ${head}`, this.#about(site, head, { start: 0, size: site.tq }, { start: 0, size: site.tk }), false)
    const verdict = site.certificate[head]
    const other = site.certificate.findIndex(({ verdict: word }) => word !== 'not kept')
    put(this.cards, card({
      title: `${name} head ${head} has no weights here`, text: site.not_drawn ?? verdict?.reason ?? '', hint: site.d === null ? 'Models that use transformers’ attention functions, or F.scaled_dot_product_attention, are shown weight by weight.' : 'attnscope record --keep qkv keeps what they are computed from.',
      button: site.not_drawn || other < 0 ? null : { label: `Go to head ${other}`, act: () => this.on.chooseHead(site, other) },
    }))
    return null
  }

  /** @param {Site} site @param {number} head @param {Result} result */
  #refused(site, head, result) {
    const verdict = site.certificate[head]
    const allowed = site.allowed?.z ?? null
    const figures = verdict.z === null ? '' : `: residual ${fixed(verdict.z, 1)}${allowed === null ? '' : `, allowed ${limit(allowed)}`}`
    const name = longName(site, result)
    this.#show(`${name} · Head ${head}`, '', false)
    const other = site.certificate.findIndex(({ verdict: word }) => word === 'passed')
    put(this.cards, card({
      bad: true, title: `${name} head ${head} refused`, text: `Its rows do not re-add to the model’s output${figures}. Nothing of this head is drawn.`,
      hint: `${sentence(verdict.reason)}In Python, weights(${head}, allow_uncertified=True) hands the numbers out all the same.`,
      button: other < 0 ? null : { label: `Go to head ${other}`, act: () => this.on.chooseHead(site, other) },
    }))
    return null
  }

  /** @param {import("../api.js").ApiError} problem */
  #failed(problem) {
    this.#show(this.#title, '', false)
    const button = { label: 'Run again', act: this.on.again }
    put(this.cards, card({ bad: true, title: problem.title, text: problem.message, hint: problem.hint, button }))
    return null
  }

  /** @param {string} title @param {string} about @param {boolean} picture */
  #show(title, about, picture) {
    this.#title = title || 'Head'
    put(this.heading, this.#title)
    put(this.about, about)
    this.scales.el.hidden = this.kinds.el.hidden = !picture
    this.body.hidden = !picture
    this.cards.hidden = picture
  }

  #head() {
    const { data } = /** @type {{data: Data}} */ (this.#shown)
    return { site: /** @type {Site} */ (data.at), head: data.head }
  }

  /** The chosen row or column for the table. @param {import("../types.js").Way} way */
  table(way) {
    if (!this.#shown || this.body.hidden) return null
    const { data: { i, j, head }, seen } = this.#shown
    if (!seen.values) return null
    const at = way === 'at' ? i : (j ?? i)
    const who = `${(way === 'at' ? seen.query : seen.key)(at).name} ${count(at)}`.trim()
    const word = (/** @type {number} */ k) => (way === 'at' ? seen.key : seen.query)(k).name
    return { title: `${this.#title}: ${way === 'at' ? `where ${who} looks` : `who looks at ${who}`}`, head: way === 'at' ? 'key' : 'query', what: seen.what, values: seen.values, word, certificate: certificateWords(seen.site, head) }
  }

  /** @param {import("../types.js").Token[]} tokens px of the longest label */
  #labelWidth(tokens) {
    const known = this.#widths.get(tokens)
    if (known !== undefined) return known
    const pen = h('canvas', {}).getContext('2d')
    if (!pen) return 40
    pen.font = `12px ${getComputedStyle(document.documentElement).getPropertyValue('--mono')}`
    const width = tokens.slice(0, 512).reduce((most, token) => Math.max(most, pen.measureText(label(token)).width), 0)
    this.#widths.set(tokens, width)
    return width
  }
}

/** @param {import("../types.js").Axis} axis @returns {(at: number) => Word} */
function wordOf({ tokens }) {
  return (at) => {
    const itself = isItsPlace(tokens[at], at)
    return { label: label(tokens[at]), name: itself ? '' : label(tokens[at]), spoken: itself ? '' : spoken(tokens[at]), faint: onlyMarks(tokens[at]) }
  }
}

/** @param {Float32Array|undefined} row @param {number} at */
function rankOf(row, at) {
  if (!row || !(row[at] >= 0)) return null
  return { rank: rankIn(row[at], row), of: row.reduce((seen, weight) => seen + (weight >= 0 ? 1 : 0), 0) }
}

/** A reason as a sentence, with room after it. @param {string|null|undefined} text */
const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1).replace(/\.$/, '')}. ` : '')

/** @param {Span} span */
const range = ({ start, size }) => `${count(start)} to ${count(start + size - 1)}`
