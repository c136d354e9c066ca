// One query as a strip of 64 numbers and as four rows of 16, the heads' grids, and which inputs move each head.

import { h, put } from '../../dom.js'
import { mountGrid } from '../../kit/grid.js'
import { mountLegend } from '../../kit/legend.js'
import { signedMap } from '../../kit/signed.js'
import { mountSlider } from '../../kit/slider.js'
import { fixed } from '../../pure/number.js'
import { upTo, whole } from '../../pure/parameters.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */
/** @typedef {{queries: number[][][], heads: number[][][][], weights: number[][][], influence: number[][], sliced: number[][], least: number, lossless: boolean}} Split */

const REACH = 1.5 // of the queries' colours, on both sides of 0
const FIRST = 37 // the number that is followed at first

/** @param {{split: HTMLElement, weights: HTMLElement, influence: HTMLElement}} places @param {Split} data @param {On} on */
export function mountSplit(places, data, on) {
  const [queries, heads] = [data.queries[0], data.heads[0]]
  const [count, width, depth] = [heads.length, queries[0].length, heads[0][0].length]
  const names = { row: 'head', column: 'number', value: 'query' }
  const follow = (/** @type {number} */ at) => on.change({ number: at === FIRST ? null : String(at) }, 'number')
  const slider = mountSlider({
    label: 'Token', stops: queries.map((_, at) => ({ value: at, text: String(at) })),
    choose: (at) => on.change({ token: at ? String(at) : null }, 'token'),
  })
  const strip = mountGrid({ label: 'The query as one run of numbers', rows: [''], columns: upTo(width), cell: 14, tall: 20, every: depth, names: { ...names, row: 'token' }, on: { choose: (_, j) => follow(j) } })
  const rows = mountGrid({ label: 'The query as four heads', rows: upTo(count), columns: upTo(depth), cell: 22, every: 5, names, on: { choose: (i, j) => follow(i * depth + j) } })
  const found = h('p', { class: 'found' })
  const legend = mountLegend({ ticks: [fixed(-REACH, 1), '0', fixed(REACH, 1)], means: 'a number of the query' })
  put(places.split, h('div', { class: 'split' }, h('div', { class: 'controls' }, slider.el),
    line('As one run', `(1, ${queries.length}, ${width})`), strip.el,
    line(`As ${count} heads`, `(1, ${count}, ${queries.length}, ${depth})`), rows.el, found,
    line('And back', `(1, ${queries.length}, ${width})`, data.lossless ? 'every number the same, bit for bit' : 'not the same'), legend.el))

  const grids = heads.map((_, head) => mountGrid({ label: `Head ${head}`, rows: upTo(queries.length), columns: upTo(queries.length), cell: 20 }))
  const weights = mountLegend({ ticks: ['0', '.25', '.5', '.75', '1'], means: 'weight' })
  put(places.weights, h('div', { class: 'grids' }, ...grids.map((grid, head) => h('section', {}, h('h3', {}, `Head ${head}`), grid.el))),
    h('div', { class: 'under' }, weights.el, h('span', { class: 'void' }, h('i', { class: 'hatch' }), 'future: exactly 0')))

  const moved = ['As the layer makes them', 'As slices of the input'].map((title) => ({
    title,
    grid: mountGrid({ label: title, rows: upTo(count), columns: upTo(width), cell: 8, tall: 16, every: depth, names: { row: 'head', column: 'input', value: 'moves by' } }),
  }))
  const influence = mountLegend({ ticks: ['0', '.25', '.5', '.75', '1'], means: 'length of the head’s move for a push of 1' })
  put(places.influence, h('div', { class: 'two' }, ...moved.map(({ title, grid }) => h('section', {}, h('h3', {}, title), grid.el))), h('div', { class: 'under' }, influence.el),
    h('p', { class: 'caption' }, `The least move of any head by any input is ${fixed(data.least, 3)}; a slice of the input is moved by its own ${depth} inputs alone, and by the other ${width - depth} not at all.`))

  const causal = queries.map((_, i) => queries.map((__, j) => j <= i))
  return {
    /** @param {Parameters} state */
    update(state) {
      const { map } = on.look()
      const signed = signedMap()
      const token = whole(state.token, queries.length) ?? 0
      slider.update(token)
      const format = (/** @type {number} */ x) => fixed(x, 3)
      const range = /** @type {[number, number]} */ ([-REACH, REACH])
      const number = whole(state.number, width) ?? FIRST
      const at = { i: Math.floor(number / depth), j: number % depth }
      strip.update({ values: [queries[token]], map: signed, range, format, rows: [String(token)], chosen: { i: 0, j: number } })
      rows.update({ values: heads.map((head) => head[token]), map: signed, range, format, chosen: at })
      put(found, `Number ${number} of this query, `, h('b', {}, format(queries[token][number])), `, is number ${at.j} of head ${at.i}, `, h('b', {}, format(heads[at.i][token][at.j])), '.')
      grids.forEach((grid, head) => grid.update({ values: data.weights[head], visible: causal, map }))
      moved[0].grid.update({ values: data.influence, map })
      moved[1].grid.update({ values: data.sliced, map })
      legend.update(signed)
      weights.update(map)
      influence.update(map)
    },
  }
}

/** @param {string} name @param {string} shape @param {string} [says] */
const line = (name, shape, says = '') => h('div', { class: 'shapes' }, name, h('b', {}, shape), says)
