// Heads before and after training side by side, the larger model under them, and what the numbers say there is to see.

import { h, put, say } from '../../dom.js'
import { mountLegend } from '../../kit/legend.js'
import { label, spoken } from '../../pure/marks.js'
import { weight } from '../../pure/number.js'
import { largestAt, triangle } from '../../pure/triangle.js'
import { mountHead } from './onehead.js'
import { mountThumbs } from './thumbs.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters @typedef {import("../../types.js").Token} Token */
/** @typedef {import("../../pure/triangle.js").Triangle} Triangle @typedef {import("./thumbs.js").Place} Place */
/** @typedef {{name: string, title: string, says: string, weights: number[][][], next: import("./onehead.js").Expected[]}} Model */
/** @typedef {{model: string, habit: string, layer: number, head: number, says: string}} Finding */
/** @typedef {{tokens: Token[], even: number, models: [Model, Model, Model], draws: [number, number, number, number, number][], findings: Finding[]}} Trained */

const SIDE = { pair: 56, larger: 56 } // px of a small picture: two px a cell

/** @param {{pair: HTMLElement, larger: HTMLElement, findings: HTMLElement, draws: HTMLElement}} places @param {Trained} data @param {On} on */
export function mountTrained(places, data, on) {
  const { tokens, models } = data
  const heads = models.map((model) => model.weights.map((line) => line.map((cells) => triangle(cells, tokens.length))))
  const opens = { pair: opening(data, 'lesson'), larger: opening(data, 'embedded') }
  const chooseCell = (/** @type {number} */ i, /** @type {number} */ j) => on.change({ row: String(i), key: String(Math.min(i, j)) }, 'cell')
  const choose = {
    pair: (/** @type {Place} */ at) => on.change({ layer: String(at.layer), head: String(at.head) }, 'head'),
    larger: (/** @type {Place} */ at) => on.change({ big: `${at.layer}.${at.head}` }, 'big'),
  }
  const panels = models.map((model, at) => {
    const kind = at < 2 ? 'pair' : 'larger'
    const tells = (/** @type {Place} */ { layer, head }) => `Layer ${layer} head ${head}, ${model.title}: largest of the last row ${weight(Math.max(...heads[at][layer][head].rows[tokens.length - 1]))}`
    return {
      thumbs: mountThumbs({ label: `Heads, ${model.title}`, heads: heads[at], side: SIDE[kind], choose: choose[kind], tells }),
      head: mountHead({ name: model.title, tokens, choose: chooseCell }),
      title: h('h3', {}, titleOf(model), h('span', { class: 'faint' }, ` ${model.says}`)),
      of: h('h4', {}),
    }
  })
  const line = h('div', { class: 'said' })
  let big = '' // what was last said of the larger model
  const [before, after, larger] = panels
  const legend = mountLegend({ ticks: ['0', '.25', '.5', '.75', '1'], means: 'weight, in the large pictures' })
  const future = h('span', { class: 'void small faint' }, h('i', { class: 'hatch' }), 'future: exactly 0')
  put(places.pair, line, h('div', { class: 'two trained-two' },
    ...[before, after].map(({ title, thumbs, of, head }) => h('div', {}, title, h('div', { class: 'over' }, thumbs.el, head.next), of, head.el))), h('div', { class: 'under' }, legend.el, future))
  put(places.larger, h('div', { class: 'larger' }, h('div', {}, larger.title, larger.thumbs.el, larger.head.next), h('div', {}, larger.of, larger.head.el)))
  put(places.findings, h('ul', { class: 'prose seen' }, ...data.findings.map((one) => h('li', {}, one.says, ' ', showButton(one, on)))))
  put(places.draws, drawsTable(data))

  return {
    /** @param {Parameters} state */
    update(state) {
      const { map } = on.look()
      legend.update(map)
      const place = { pair: placeOf(heads[1], state.layer, state.head, opens.pair), larger: placeOf(heads[2], ...bigOf(state.big), opens.larger) }
      const i = within(state.row, tokens.length, tokens.length - 1)
      panels.forEach(({ thumbs, head, of }, at) => {
        const chosen = place[at < 2 ? 'pair' : 'larger']
        const shown = heads[at][chosen.layer][chosen.head]
        const j = within(state.key, i + 1, largestAt((at < 2 ? heads[1][chosen.layer][chosen.head] : shown).rows[i]))
        thumbs.update(chosen, map)
        put(of, `Layer ${chosen.layer} · Head ${chosen.head}`)
        head.update({ head: shown, i, j, next: models[at].next[i], map })
      })
      const { layer, head } = place.pair
      const j = within(state.key, i + 1, largestAt(heads[1][layer][head].rows[i]))
      const [was, is] = [0, 1].map((at) => weight(heads[at][layer][head].rows[i][j]))
      const said = `In layer ${layer} head ${head}, ${spoken(tokens[i])} ${i} looks at ${spoken(tokens[j])} ${j} with ${was} before training and ${is} after it; an even share is ${weight(1 / (i + 1))}.`
      if (line.textContent && line.textContent !== said) on.say(said)
      say(line, said)
      const at = place.larger
      const now = `Layer ${at.layer} head ${at.head} of the larger model: the largest weight of the last row is ${weight(Math.max(...heads[2][at.layer][at.head].rows[tokens.length - 1]))}.`
      if (big && big !== now) on.say(now)
      big = now
    },
  }
}

/** @param {Model} model */
const titleOf = ({ name, title }) => ({ untrained: 'Before training', lesson: 'After training' })[name] ?? title

/** The head with most of the first habit is where one begins. @param {Trained} data @param {string} model @returns {Place} */
function opening({ findings }, model) {
  const { layer, head } = findings.find((one) => one.model === model) ?? { layer: 0, head: 0 }
  return { layer, head }
}

/** @param {Finding} finding @param {On} on */
function showButton({ model, layer, head }, on) {
  const act = () => {
    on.change(model === 'embedded' ? { big: `${layer}.${head}` } : { layer: String(layer), head: String(head) }, 'finding')
    document.querySelector(`[data-live="${model === 'embedded' ? 'larger' : 'pair'}"]`)?.scrollIntoView({ block: 'start' })
  }
  return h('button', { class: 'btn tiny', type: 'button', 'aria-label': `Show layer ${layer} head ${head} of ${model}`, onclick: act }, 'Show')
}

/** @param {Trained} data */
function drawsTable({ draws, tokens, even }) {
  const columns = ['seed', 'layer', 'head', 'on', 'weight', 'of the even share']
  return h('table', { class: 'nums draws' }, h('caption', {}, 'Other draws, none of them trained: the largest weight in any head’s last row'),
    h('thead', {}, h('tr', {}, ...columns.map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, ...draws.map(([seed, layer, head, key, most]) => h('tr', {}, h('th', { scope: 'row' }, String(seed)),
      ...[layer, head, `${label(tokens[key])} ${key}`, weight(most), `${(most / even).toFixed(1)} times`].map((text) => h('td', {}, String(text)))))))
}

/** @param {Triangle[][]} heads @param {string|undefined} layer @param {string|undefined} head @param {Place} otherwise @returns {Place} */
function placeOf(heads, layer, head, otherwise) {
  const at = { layer: within(layer, heads.length, -1), head: within(head, heads[0].length, -1) }
  return at.layer < 0 || at.head < 0 ? otherwise : at
}

/** "3.1" is layer 3 head 1. @param {string|undefined} big @returns {[string|undefined, string|undefined]} */
function bigOf(big) {
  const [layer, head] = (big ?? '').split('.')
  return [layer, head]
}

/** A whole number from 0 to size - 1, or what stands for a wrong one. @param {string|undefined} given @param {number} size @param {number} otherwise */
const within = (given, size, otherwise) => (given && /^\d{1,3}$/.test(given) && Number(given) < size ? Number(given) : otherwise)
