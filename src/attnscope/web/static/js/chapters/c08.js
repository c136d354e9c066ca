// Chapter 8, the module: its code with shapes, its parameters counted, its heads' grids, and PyTorch's own kernel beside it.

import { h, put } from '../dom.js'
import { mountGrid } from '../kit/grid.js'
import { mountLegend } from '../kit/legend.js'
import { count, small } from '../pure/number.js'
import { upTo, whole } from '../pure/parameters.js'
import { mountSeg } from '../views/seg.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On @typedef {import("../lesson/types.js").Parameters} Parameters */
/** @typedef {{name: string, shape: number[], numbers: number}} Parameter */

/** @param {HTMLElement} el the chapter's section @param {Chapter} data @param {On} on */
export function mount(el, data, on) {
  const { module } = data.experiments
  const place = (/** @type {string} */ name) => /** @type {HTMLElement} */ (el.querySelector(`[data-live="${name}"]`))
  put(place('code'), code(module.code))
  put(place('parameters'), parameters(module.parameters, module.total))
  put(place('held'), held(module))
  const grids = mountGrids(place('grids'), module.weights, on)
  return {
    /** @param {Parameters} state */
    update(state) {
      grids.update(state)
    },
    destroy() {},
  }
}

/** @param {{code: string, shape: string}[]} lines */
function code(lines) {
  const rows = lines.map((line) => h('tr', {}, h('td', {}, line.code || ' '), h('td', {}, line.shape)))
  const head = h('tr', {}, h('th', { scope: 'col', class: 'name' }, 'Code'), h('th', { scope: 'col', class: 'name' }, 'Shape, or numbers learned'))
  return h('div', { class: 'code', tabindex: '0', role: 'region', 'aria-label': 'Code of the module' }, h('table', {}, h('thead', {}, head), h('tbody', {}, ...rows)))
}

/** @param {Parameter[]} rows @param {number} total */
function parameters(rows, total) {
  const head = h('tr', {}, ...['Parameter', 'shape', 'numbers'].map((text) => h('th', { scope: 'col' }, text)))
  return h('div', { class: 'wide' }, h('table', { class: 'nums' }, h('thead', {}, head), h('tbody', {},
    ...rows.map((row) => h('tr', {}, h('th', { scope: 'row' }, h('code', {}, row.name)), h('td', {}, shape(row.shape)), h('td', {}, count(row.numbers)))),
    h('tr', { class: 'sum' }, h('th', { scope: 'row' }, 'Together'), h('td', {}), h('td', {}, count(total))))))
}

/** @param {{above: number, difference: number, short_difference: number, seed: number}} module */
function held({ above, difference, short_difference, seed }) {
  const line = (/** @type {string} */ name, /** @type {number} */ x) => h('div', {}, h('dt', {}, name), h('dd', { title: String(x) }, x ? scientific(x) : '0'))
  return h('div', {}, h('dl', { class: 'held' },
    line('largest weight above the diagonal', above),
    line('largest difference from F.scaled_dot_product_attention', difference),
    line('largest difference between the code above and attnscope’s module', short_difference)),
  h('p', { class: 'caption' }, `In float32, with seed ${seed}. Over many seeds both differences stay under ${small(5e-7)}, which is a test of this package.`))
}

/** @param {HTMLElement} el @param {number[][][][]} weights @param {On} on */
function mountGrids(el, weights, on) {
  const t = weights[0][0].length
  const sequence = mountSeg('Sequence', upTo(weights.length).map((value) => ({ value, text: value })), (value) => {
    on.change({ sequence: value === '0' ? null : value }, 'sequence')
    on.say(`Weights of sequence ${value}.`)
  })
  const grids = weights[0].map((_, head) => mountGrid({ label: `Head ${head}`, rows: upTo(t), columns: upTo(t), cell: 18, every: 2 }))
  const legend = mountLegend({ ticks: ['0', '.25', '.5', '.75', '1'], means: 'weight' })
  put(el, h('div', { class: 'controls' }, h('span', { class: 'grp' }, 'Sequence', sequence.el)),
    h('div', { class: 'grids' }, ...grids.map((grid, head) => h('section', {}, h('h3', {}, `Head ${head}`), grid.el))),
    h('div', { class: 'under' }, legend.el, h('span', { class: 'void' }, h('i', { class: 'hatch' }), 'future: exactly 0')))
  const causal = upTo(t).map((_, i) => upTo(t).map((__, j) => j <= i))
  return {
    /** @param {Parameters} state */
    update(state) {
      const at = whole(state.sequence, weights.length) ?? 0
      const { map } = on.look()
      sequence.update(String(at))
      grids.forEach((grid, head) => grid.update({ values: weights[at][head], visible: causal, map }))
      legend.update(map)
    },
  }
}

/** @param {number[]} sizes */
const shape = (sizes) => `(${sizes.join(', ')})`

/** 1.2e−7 @param {number} x */
const scientific = (x) => x.toExponential(1).replace('-', '−')
