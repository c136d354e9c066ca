// The next character with and without one weight or one head: every number was computed beforehand.

import { h, put } from '../../dom.js'
import { mountBars } from '../../kit/bars.js'
import { mountGrid } from '../../kit/grid.js'
import { label as written, spoken } from '../../pure/marks.js'
import { fixed, four, weight } from '../../pure/number.js'
import { mountSeg } from '../seg.js'
import { named, placed } from './norms.js'
import { character, jumps, mountTwins } from './twins.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters @typedef {import("./norms.js").Place} Place */
/** @typedef {{moved: any, after: any, most: any, most_after: any}} Without nested as layers, heads and, of weights, keys */
/** @typedef {{layer: number, head: number, key: number, weight: number, moved: number}} Edge */
/**
 * @typedef {{line: string, characters: string, before: number[], weights: number[][][], shown: number[], shared: Without, stayed: Without,
 *   heads: Without, large: Edge, small: Edge, says: string}} KnockOut
 */
/** @typedef {"weight"|"head"} What @typedef {"share"|"stay"} Way @typedef {{at: Place, what: What, way: Way}} Cut */
/** @typedef {{moved: number, after: number[], most: number[], most_after: number[]}} One */

/** @param {HTMLElement} el @param {KnockOut} data @param {On} on */
export function mountKnockout(el, data, on) {
  const [layers, heads, keys] = [data.weights.length, data.weights[0].length, data.line.length]
  /** @type {Cut} */
  const fresh = { at: data.large, what: 'weight', way: 'share' }
  let cut = fresh
  /** @param {Partial<Cut>} to @param {string} kind */
  function go(to, kind) {
    const { at, what, way } = { ...cut, ...to }
    on.change({ cut: `${at.layer}.${at.head}.${at.key}`, out: what === 'weight' ? null : what, way: way === 'share' ? null : way }, kind)
    const others = `In the bars of single weights the others ${way === 'share' ? 'share its part' : 'stay as they are'}.`
    on.say(kind === 'way' && what === 'head' ? others : sentence(data, { at, what, way }))
  }
  const grid = mountGrid({
    label: 'How far the probabilities move without a whole head', rows: names('L', layers), columns: names('H', heads), names: { row: 'layer', column: 'head', value: 'moved' },
    on: { choose: (layer, head) => go({ at: { ...cut.at, layer, head } }, 'head') },
  })
  const what = mountSeg('Take out', [{ value: /** @type {What} */ ('weight'), text: 'one weight' }, { value: /** @type {What} */ ('head'), text: 'the whole head' }], (value) => go({ what: value }, 'what'))
  const way = mountSeg('The others', [{ value: /** @type {Way} */ ('share'), text: 'share its part' }, { value: /** @type {Way} */ ('stay'), text: 'stay' }], (value) => go({ way: value }, 'way'))
  const twins = mountTwins({ label: 'Keys of the last row', line: data.line, names: ['weight', 'moved without it'], choose: (key) => go({ at: { ...cut.at, key }, what: 'weight' }, 'cut') })
  const bars = mountBars({ label: 'Next character', names: ['before', 'after'] })
  const found = jumps('Show', [{ text: 'the large weight that changes little', act: () => go(fresh, 'cut') }, { text: 'the small one that changes more', act: () => go({ ...fresh, at: data.small }, 'cut') }])
  const title = h('h3')
  const said = h('p', { class: 'said' })
  put(el,
    h('div', { class: 'controls' }, h('span', { class: 'grp' }, 'Take out', what.el), h('span', { class: 'grp' }, 'The others', way.el), found),
    h('div', { class: 'cut' },
      h('div', {}, h('h3', {}, 'Heads'), grid.el, h('p', { class: 'caption' }, 'On each head: how far the probabilities move without it. Choose one to see its weights.')),
      h('div', {}, h('h3', {}, 'The next character'), bars.el)),
    title, twins.el, said)

  return {
    /** @param {Parameters} state */
    update(state) {
      cut = { at: placed(state.cut, [layers, heads, keys]) ?? fresh.at, what: state.out === 'head' ? 'head' : 'weight', way: state.way === 'stay' ? 'stay' : 'share' }
      const { layer, head, key } = cut.at
      what.update(cut.what)
      way.update(cut.way)
      grid.update({ values: data.heads.moved, map: on.look().map, chosen: { i: layer, j: head } })
      put(title, `Last row of layer ${layer}, head ${head}`)
      twins.update({ above: data.weights[layer][head], below: ways(data, cut.way).moved[layer][head], key })
      put(said, sentence(data, cut))
      bars.update({ rows: rows(data, one(data, cut)), max: 1, format: four })
    },
    destroy() {},
  }
}

/** @param {string} letter @param {number} n */
const names = (letter, n) => Array.from({ length: n }, (_, at) => `${letter}${at}`)

/** @param {KnockOut} data @param {Way} way */
const ways = (data, way) => (way === 'share' ? data.shared : data.stayed)

/** What is known of one cut. @param {KnockOut} data @param {Cut} cut @returns {One} */
function one(data, { at, what, way }) {
  const all = what === 'head' ? data.heads : ways(data, way)
  const of = (/** @type {any} */ nested) => (what === 'head' ? nested[at.layer][at.head] : nested[at.layer][at.head][at.key])
  return { moved: of(all.moved), after: of(all.after), most: of(all.most), most_after: of(all.most_after) }
}

/** The likeliest characters, and below them what else changes most. @param {KnockOut} data @param {One} cut */
function rows({ characters, before, shown }, { after, most, most_after }) {
  const known = shown.map((id, at) => ({ id, other: after[at] }))
  const more = most.map((id, at) => ({ id, other: most_after[at] })).filter(({ id }) => !shown.includes(id))
  return [...known, ...more].map(({ id, other }) => {
    const token = character(characters[id])
    return { text: written(token), spoken: spoken(token), value: before[id], other }
  })
}

/** @param {KnockOut} data @param {Cut} cut */
function sentence(data, cut) {
  const { at, what, way } = cut
  const { moved, most, most_after } = one(data, cut)
  const row = data.weights[at.layer][at.head]
  const gone = what === 'head'
    ? `Without the whole of layer ${at.layer}, head ${at.head}`
    : `Without the weight ${weight(row[at.key])} on ${named(data.line, at.key)}, while the others ${way === 'share' ? 'share its part' : 'stay as they are'},`
  const name = `“${written(character(data.characters[most[0]]))}”`
  return `${gone} the probabilities move by ${fixed(moved, 4)}. Most of all ${name}, from ${four(data.before[most[0]])} to ${four(most_after[0])}.`
}
