// Two heads made by hand on a line of words: their grids, and the arithmetic of the cell that was chosen in each.

import { attr, h, put } from '../../dom.js'
import { mountGrid } from '../../kit/grid.js'
import { mountLegend } from '../../kit/legend.js'
import { mountSlider } from '../../kit/slider.js'
import { count, fixed, plural, weight } from '../../pure/number.js'
import { cellOf, whole } from '../../pure/parameters.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters @typedef {{i: number, j: number}} Place */
/**
 * weights and sums: by worth, then by head; matches by head.
 * @typedef {{text: string, words: string[], weights: number[][][][], sums: number[][][], matches: boolean[][][]}} Line
 * @typedef {{lines: Line[], worths: number[], exps: number[], worth: number}} Designed
 */

const HEADS = [
  { name: 'a', title: 'Head A: the position before', start: { i: 3, j: 2 } },
  { name: 'b', title: 'Head B: copies of the same word', start: { i: 5, j: 1 } },
]

/** @param {HTMLElement} el @param {Designed} data @param {On} on */
export function mountDesigned(el, data, on) {
  const lines = h('select', { class: 'field', onchange: () => on.change({ line: lines.value === '0' ? null : lines.value, a: null, b: null }, 'line') },
    ...data.lines.map(({ text }, at) => h('option', { value: at }, text)))
  const usual = data.worths.indexOf(data.worth)
  const worth = mountSlider({
    label: 'A match is worth', stops: data.worths.map((value) => ({ value, text: count(value) })),
    choose: (at) => on.change({ worth: at === usual ? null : String(data.worths[at]) }, 'worth'),
  })
  const { words } = data.lines[0]
  const heads = HEADS.map(({ name, title }) => {
    const grid = mountGrid({ label: title, rows: words, columns: words, cell: 42, on: { choose: (i, j) => on.change({ [name]: `${i}.${j}` }, `cell ${name}`) } })
    return { grid, says: h('p', { class: 'arith' }), el: h('section', {}, h('h3', {}, title), grid.el) }
  })
  heads.forEach((head) => head.el.append(head.says))
  const legend = mountLegend({ ticks: ['0', '.25', '.5', '.75', '1'], means: 'weight' })
  put(el, h('div', { class: 'controls' }, h('label', {}, 'Line', lines), worth.el),
    h('div', { class: 'heads-two' }, ...heads.map((head) => head.el)),
    h('div', { class: 'under' }, legend.el, h('span', { class: 'void' }, h('i', { class: 'hatch' }), 'future: exactly 0')))

  return {
    /** @param {Parameters} state */
    update(state) {
      const at = whole(state.line, data.lines.length) ?? 0
      const line = data.lines[at]
      const chosen = data.worths.findIndex((value) => String(value) === state.worth)
      const step = chosen < 0 ? usual : chosen
      lines.value = String(at)
      worth.update(step)
      const { map } = on.look()
      const n = line.words.length
      const visible = line.words.map((_, i) => line.words.map((__, j) => j <= i))
      heads.forEach(({ grid, says }, head) => {
        const cell = cellOf(state[HEADS[head].name], n, n) ?? held(HEADS[head].start, line, head)
        grid.update({ values: line.weights[step][head], visible, map, chosen: cell, rows: line.words, columns: line.words })
        put(says, ...arithmetic(data, line, { step, head, cell }))
        attr(says, 'data-cell', `${cell.i}.${cell.j}`)
      })
      legend.update(map)
    },
  }
}

/** Where a line is shorter, or has no copy there, its last word and the largest weight of that row. @param {Place} start @param {Line} line @param {number} head */
function held(start, line, head) {
  if (line.matches[head][start.i]?.[start.j]) return start
  const i = line.words.length - 1
  return { i, j: Math.max(0, line.matches[head][i].indexOf(true)) }
}

/** @param {Designed} data @param {Line} line @param {{step: number, head: number, cell: Place}} at */
function arithmetic(data, line, { step, head, cell: { i, j } }) {
  const [query, key] = [i, j].map((at) => h('span', {}, h('code', { dir: 'auto' }, line.words[at]), ` ${at}`))
  if (j > i) return [key, ' comes after ', query, ': it is not visible, and its weight is exactly ', h('b', {}, '0'), '.']
  const score = line.matches[head][i][j] ? data.worths[step] : 0
  const power = line.matches[head][i][j] ? data.exps[step] : 1
  const found = line.matches[head][i].filter(Boolean).length
  const others = i + 1 - found
  const row = `Its row holds ${found === 1 ? '1 match' : found ? `${found} matches` : 'no match'} and ${others ? plural(others, 'other key') : 'no other key'}: the sum is ${fixed(line.sums[step][head][i], 2)}.`
  return [query, ' looks at ', key, `: ${line.matches[head][i][j] ? 'a match' : 'no match'}, score ${count(score)}, exp ${count(score)} = ${fixed(power, 2)}. ${row} `,
    `${fixed(power, 2)} ÷ ${fixed(line.sums[step][head][i], 2)} = `, h('b', {}, weight(line.weights[step][head][i][j])), '.']
}
