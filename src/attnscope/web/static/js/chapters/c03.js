// Chapter 3, why divide by √d: how products spread with the width, and what softmax makes of them.

import { h, put, say } from '../dom.js'
import { mountBars } from '../kit/bars.js'
import { mountCurve } from '../kit/curve.js'
import { mountSlider } from '../kit/slider.js'
import { mountTeller } from '../lesson/teller.js'
import { count, fixed, MINUS, weight } from '../pure/number.js'
import { whole } from '../pure/parameters.js'
import { mountHistogram } from '../views/lesson/histogram.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On @typedef {import("../lesson/types.js").Parameters} Parameters */

const FIRST = 512 // the width shown at first: what is wrong is plain there

/** @param {HTMLElement} el the chapter's section @param {Chapter} data @param {On} on */
export function mount(el, data, on) {
  const place = (/** @type {string} */ name) => /** @type {HTMLElement} */ (el.querySelector(`[data-live="${name}"]`))
  const { spread, saturation } = data.experiments
  const views = [mountSpread(place('spread'), spread, on), mountSaturation(place('saturation'), saturation, on)]
  const tell = mountTeller(el, '.said', on.say)
  return {
    /** @param {Parameters} state */
    update(state) {
      const d = whole(state.d, 1e9) ?? FIRST
      const at = spread.widths.indexOf(spread.widths.includes(d) ? d : FIRST)
      for (const view of views) view.update(at)
      tell()
    },
    destroy() {},
  }
}

/** Four places, or two digits and a power of ten: .4142, 1.1e−4. @param {number} x */
const digits = (x) => (x === 0 || Math.abs(x) >= 1e-3 ? fixed(x, 4) : power(x, 1))

/** @param {number} x @param {number} [places] */
function power(x, places = 0) {
  const [mantissa, exponent] = x.toExponential(places).split('e')
  return x >= 1e-3 ? fixed(x, 3).replace(/\.?0+$/, '') : `${mantissa}e${exponent.replace('-', MINUS)}`
}

/** @param {number[]} widths @param {On} on */
function widthSlider(widths, on) {
  const stops = widths.map((d) => ({ value: d, text: count(d) }))
  return mountSlider({ label: 'Width d', stops, choose: (at) => on.change({ d: widths[at] === FIRST ? null : String(widths[at]) }, 'slider') })
}

/** @param {HTMLElement} el @param {any} data @param {On} on */
function mountSpread(el, data, on) {
  const slider = widthSlider(data.widths, on)
  const curve = mountCurve({
    label: 'Standard deviation of products by width',
    x: { label: 'width d', log: 2, format: count },
    y: { label: 'standard deviation', format: (x) => fixed(x, 2) },
    height: 280,
  })
  const histogram = mountHistogram({ label: `How ${count(data.pairs)} products are spread`, edges: data.edges, names: ['q·k', 'q·k ÷ √d'] })
  const said = h('p', { class: 'said' })
  put(el, h('div', { class: 'part' }, h('div', { class: 'scale-top' }, slider.el),
    h('div', { class: 'two' }, h('div', {}, h('h3', {}, 'The spread grows as √d'), curve.el), h('div', {}, h('h3', {}, `${count(data.pairs)} products at this width`), histogram.el)), said))
  const line = (/** @type {number[]} */ values) => /** @type {[number, number][]} */ (values.map((y, at) => [data.widths[at], y]))

  return {
    /** @param {number} at */
    update(at) {
      const d = data.widths[at]
      slider.update(at)
      curve.update({
        series: [
          { name: 'q·k', points: line(data.raw), tone: 0, dots: true },
          { name: '√d', points: line(data.roots), tone: 2, dashed: true },
          { name: 'q·k ÷ √d', points: line(data.scaled), tone: 1, dots: true },
        ],
        mark: { x: d, label: `d = ${count(d)}` },
      })
      const share = (/** @type {number[]} */ counts) => counts.map((n) => n / data.pairs)
      histogram.update([share(data.raw_counts[at]), share(data.scaled_counts[at])])
      say(said, `At d = ${count(d)} the products have a standard deviation of ${fixed(data.raw[at], 2)}, and √${count(d)} is ${fixed(data.roots[at], 2)}. Divided by it they have ${fixed(data.scaled[at], 2)}.`)
    },
  }
}

/** @param {HTMLElement} el @param {any} data @param {On} on */
function mountSaturation(el, data, on) {
  const slider = widthSlider(data.widths, on)
  const bars = mountBars({ label: 'Weights of the keys', names: ['q·k', 'q·k ÷ √d'] })
  const table = h('table', { class: 'nums measures' })
  const curve = mountCurve({
    label: 'Median norm of the gradient by width',
    x: { label: 'width d', log: 2, format: count },
    y: { label: `norm of the gradient, median of ${count(data.draws)} draws`, log: 10, format: digits, tick: power, max: 1 },
    height: 280,
  })
  const said = h('p', { class: 'said' })
  put(el, h('div', { class: 'part' }, h('div', { class: 'scale-top' }, slider.el),
    h('div', { class: 'two' }, h('div', {}, h('h3', {}, `Weights of ${data.keys} keys, not divided and divided`), bars.el, table),
      h('div', {}, h('h3', {}, 'What is left of the gradient'), curve.el)),
    said))
  const line = (/** @type {number[]} */ values) => /** @type {[number, number][]} */ (values.map((y, at) => [data.widths[at], y]))

  return {
    /** @param {number} at */
    update(at) {
      const d = data.widths[at]
      slider.update(at)
      bars.update({
        rows: data.weights[0][at].map((/** @type {number} */ w, /** @type {number} */ j) => ({ text: `key ${j}`, value: w, other: data.weights[1][at][j] })),
        max: 1,
        format: weight,
      })
      curve.update({
        series: [
          { name: 'divided by √d', points: line(data.middle_gradient[1]), tone: 1, dots: true },
          { name: 'not divided', points: line(data.middle_gradient[0]), tone: 0, dots: true },
        ],
        mark: { x: d, label: `d = ${count(d)}` },
      })
      fillMeasures(table, data, at)
      const factor = data.middle_gradient[1][at] / data.middle_gradient[0][at]
      const much = factor >= 10 ? count(factor) : fixed(factor, 2)
      say(said, `At d = ${count(d)} the query puts ${weight(data.largest[0][at])} on one key without the division and ${weight(data.largest[1][at])} with it. Divided, the median gradient is ${much} times as large.`)
    },
  }
}

/** @param {HTMLElement} table @param {any} data @param {number} at */
function fillMeasures(table, data, at) {
  const rows = [
    { name: 'largest weight', one: data.largest, middle: data.middle_largest, format: weight },
    { name: `entropy in nats (even: ${fixed(data.even, 3)})`, one: data.entropy, middle: data.middle_entropy, format: digits },
    { name: 'norm of the gradient', one: data.gradient, middle: data.middle_gradient, format: digits },
  ]
  const head = (/** @type {string} */ text) => h('th', { scope: 'col' }, text)
  put(table,
    h('caption', {}, `This query, and the medians of ${count(data.draws)} draws like it`),
    h('thead', {}, h('tr', {}, h('td', {}), head('q·k'), head('q·k\u00a0÷\u00a0√d'), head('q·k, median'), head('q·k\u00a0÷\u00a0√d, median'))),
    h('tbody', {}, ...rows.map(({ name, one, middle, format }) => h('tr', {}, h('th', { scope: 'row' }, name), ...[one[0], one[1], middle[0], middle[1]].map((values) => h('td', {}, format(values[at])))))))
}
