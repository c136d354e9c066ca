// Chapter 4, the usual mistakes: each beside the right weights, what a checker says of it, and what forgetting positions costs.

import { h, put } from '../dom.js'
import { mountCurve } from '../kit/curve.js'
import { mountGrid } from '../kit/grid.js'
import { mountLegend } from '../kit/legend.js'
import { count, fixed, weight, weight7 } from '../pure/number.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On */
/** @typedef {{name: string, sentence: string, remedy: string, sure: boolean, evidence: Record<string, number>}} Finding */

const CELL = { few: 46, many: 38 } // px; four words and six
const NEAR = 5e-4 // a sum this near to 1 reads 1.000

/** @param {HTMLElement} el the chapter's section @param {Chapter} data @param {On} on */
export function mount(el, data, on) {
  const place = (/** @type {string} */ name) => /** @type {HTMLElement} */ (el.querySelector(`[data-live="${name}"]`))
  const cases = data.experiments.mistakes.cases.map(mountCase)
  const legend = mountLegend({ ticks: ['0', '.25', '.5', '.75', '1'], means: 'weight' })
  const key = h('div', { class: 'under' }, legend.el, h('span', { class: 'void' }, h('i', { class: 'hatch' }), 'not visible: exactly 0'))
  put(place('gallery'), h('div', { class: 'gallery' }, key, ...cases.map((/** @type {{el: HTMLElement}} */ one) => one.el)))
  const drawLosses = mountLosses(place('losses'), data.experiments.forgotten_positions)
  return {
    update() {
      const { map } = on.look()
      legend.update(map)
      for (const one of cases) one.update(map)
      drawLosses()
    },
    destroy() {},
  }
}

/** @param {any} data one case as Python gives it */
function mountCase(data) {
  const cell = data.words.length > 4 ? CELL.many : CELL.few
  const grid = (/** @type {string} */ label) => mountGrid({ label, rows: data.words, columns: data.words, cell })
  const right = grid(`Right weights beside: ${data.title}`)
  const wrong = grid(`${data.title}, the weights it gives`)
  const seen = data.weights.map((/** @type {number[]} */ row, /** @type {number} */ i) => row.map((w, j) => w > 0 || data.visible[i][j]))
  const el = h('div', { class: 'part mistake', id: `mistake-${data.name}` },
    h('div', {}, h('h3', {}, data.title), h('p', { class: 'dim' }, data.says),
      h('dl', { class: 'codes' }, h('dt', {}, 'mistaken'), h('dd', {}, h('code', {}, data.code)), h('dt', {}, 'right'), h('dd', {}, h('code', {}, data.mended)))),
    h('div', {}, h('h4', {}, 'as it should be'), right.el),
    h('div', {}, h('h4', {}, 'with the mistake'), summed(wrong.el, data, cell)),
    verdict(data))
  return {
    el,
    /** @param {import("../pure/colour.js").ColourMap} map */
    update(map) {
      right.update({ values: data.right, visible: data.visible, map, written: true })
      wrong.update({ values: data.weights, visible: seen, map, written: true })
    },
  }
}

/** The grid with the sums of its rows on the right and of its columns below. @param {HTMLElement} grid @param {any} data @param {number} cell px */
function summed(grid, data, cell) {
  const line = (/** @type {string} */ kind, /** @type {number[]} */ values) =>
    h('div', { class: `sums ${kind}`, role: 'group', 'aria-label': `Sums of the ${kind}` }, h('span', { class: 'name' }, 'sum'),
      ...values.map((x) => h('b', { class: kind === 'rows' && Math.abs(x - 1) > NEAR ? 'off' : null, title: weight7(x) }, weight(x))))
  const head = /** @type {HTMLElement} */ (grid.querySelector('.fit')).style.getPropertyValue('--head')
  return h('div', { class: 'summed', style: { '--n': String(data.words.length), '--cell': cell, '--head': head } }, grid, line('rows', data.rows), line('columns', data.columns))
}

/** What the checker says with everything at hand, and of the weights alone. @param {any} data */
function verdict(data) {
  const spoken = (/** @type {Finding} */ one) => [h('b', {}, one.name.replaceAll('_', ' ')), one.sure ? '' : ' (perhaps)', `: ${one.sentence}. `, h('span', { class: 'dim' }, `${one.remedy}.`)]
  const alone = data.alone.length ? data.alone.flatMap((/** @type {Finding} */ one) => [h('b', {}, one.name.replaceAll('_', ' ')), one.sure ? '' : ' (perhaps)', ` `]) : ['nothing']
  const given = data.name === 'no_positions' ? 'diagnose_order' : 'diagnose'
  return h('dl', { class: 'verdict' },
    h('dt', {}, h('code', {}, given)), ...data.found.map((/** @type {Finding} */ one) => h('dd', {}, ...spoken(one))),
    h('dt', {}, 'weights alone'), h('dd', {}, ...alone))
}

/** @param {HTMLElement} el @param {any} data @returns {() => void} */
function mountLosses(el, data) {
  const curve = mountCurve({
    label: 'Losses of the lesson’s model with and without positions',
    x: { label: 'step', format: count, min: 0 },
    y: { label: 'loss, nats a character', format: (x) => fixed(x, 4), min: 1.4, max: 3 },
    height: 340,
  })
  const orders = [['with positions', data.order_with], ['without', data.order_without]]
  const amount = (/** @type {any} */ shuffled) => (shuffled ? fixed(shuffled.difference, 4) : 'no mask')
  const table = h('table', { class: 'nums orders' },
    h('caption', {}, `Shuffled tokens: how far outputs are from the same outputs shuffled, as a share of the largest (${data.order_with.dtype})`),
    h('thead', {}, h('tr', {}, h('td', {}), h('th', { scope: 'col' }, 'as it is'), h('th', { scope: 'col' }, 'mask lifted'), h('th', { scope: 'col' }, 'validation loss at the end'))),
    h('tbody', {}, ...orders.map(([name, order], at) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, amount(order.as_it_is)), h('td', {}, amount(order.unmasked)), h('td', {}, fixed(last(at ? data.without_positions : data.with_positions), 4))))))
  const sentences = h('ul', { class: 'prose' }, ...orders.map(([name, order]) => h('li', {}, `The model ${name === 'without' ? 'without positions' : name}: ${order.sentence[0].toLowerCase()}${order.sentence.slice(1)}.`)))
  put(el, h('div', { class: 'part' }, curve.el, table), sentences)
  const inside = (/** @type {[number, number][]} */ points) => points.filter(([, loss]) => loss <= 3)
  return () =>
    curve.update({
      series: [
        { name: 'without positions', points: data.without_positions.validation, tone: 1, dots: true },
        { name: 'with positions', points: data.with_positions.validation, tone: 0, dots: true },
        { name: 'without, training', points: inside(data.without_positions.training), tone: 3 },
        { name: 'with, training', points: inside(data.with_positions.training), tone: 2 },
      ],
      note: 'Validation: the whole last tenth of the text, every 250 steps. Training: means of 50 batches; the first ones are above 3 and left out.',
    })
}

/** @param {{validation: [number, number][]}} curve */
const last = (curve) => curve.validation[curve.validation.length - 1][1]
