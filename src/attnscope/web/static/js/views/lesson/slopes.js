// ALiBi: the slope of one head, the weights that it alone makes of keys that match equally, and all heads as a table.

import { attr, h, put } from '../../dom.js'
import { mountGrid } from '../../kit/grid.js'
import { mountLegend } from '../../kit/legend.js'
import { mountSlider } from '../../kit/slider.js'
import { fixed, weight } from '../../pure/number.js'
import { upTo, whole } from '../../pure/parameters.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */
/** @typedef {{slopes: number[], scores: (number|string)[][][], weights: number[][][], reach: number[]}} Slopes */

const BACK = [0, 1, 2, 4, 8] // tokens

/** @param {HTMLElement} el @param {Slopes} data @param {On} on */
export function mountSlopes(el, data, on) {
  const t = data.weights[0].length
  const names = data.slopes.map((slope) => `1/${fixed(1 / slope, 0)}`)
  const slider = mountSlider({
    label: 'Head, by its slope', stops: names.map((text, value) => ({ value, text })),
    choose: (at) => on.change({ slope: at ? String(at) : null }, 'slope'),
  })
  const grid = mountGrid({ label: 'Weights of a head by its slope alone', rows: upTo(t), columns: upTo(t), cell: 20, every: 2 })
  const legend = mountLegend({ ticks: ['0', '.25', '.5', '.75', '1'], means: 'weight' })
  const back = BACK.filter((distance) => distance < t)
  const row = (/** @type {number} */ head) => data.weights[head][t - 1]
  const lines = names.map((name, head) => h('tr', {}, h('th', { scope: 'row' }, name),
    ...back.map((distance) => h('td', { title: fixed(row(head)[t - 1 - distance], 7) }, weight(row(head)[t - 1 - distance]))), h('td', {}, fixed(data.reach[head], 2))))
  const head = h('tr', {}, h('th', { scope: 'col' }, 'slope'), ...back.map((distance) => h('th', { scope: 'col' }, distance ? `${distance} back` : 'itself')), h('th', { scope: 'col' }, 'mean distance'))
  const says = h('p', { class: 'caption' })
  put(el, h('div', { class: 'controls' }, slider.el), h('div', { class: 'sloped' },
    h('div', {}, grid.el, h('div', { class: 'under' }, legend.el, h('span', { class: 'void' }, h('i', { class: 'hatch' }), 'future: exactly 0'))),
    h('div', {}, h('div', { class: 'wide' }, h('table', { class: 'nums wraps' }, h('caption', {}, `Weights of the last of ${t} tokens`), h('thead', {}, head), h('tbody', {}, ...lines))), says)))
  const causal = upTo(t).map((_, i) => upTo(t).map((__, j) => j <= i))
  return {
    /** @param {Parameters} state */
    update(state) {
      const at = whole(state.slope, names.length) ?? 0
      const { map } = on.look()
      slider.update(at)
      grid.update({ values: data.weights[at], visible: causal, map })
      legend.update(map)
      lines.forEach((line, which) => {
        line.classList.toggle('chosen', which === at)
        attr(line, 'aria-current', which === at ? 'true' : null)
      })
      const [near, far] = [data.scores[at][t - 1][t - 2], data.scores[at][t - 1][0]].map(Number)
      put(says, `With slope ${names[at]} the key one back has score ${fixed(near, 3)}, the first key, ${t - 1} back, ${fixed(far, 3)}.`)
    },
  }
}
