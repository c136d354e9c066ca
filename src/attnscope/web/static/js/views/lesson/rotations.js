// One query and one key whose arrows turn with their positions: dials, their product, and all products as stripes.

import { attr, h, put, s } from '../../dom.js'
import { mountGrid } from '../../kit/grid.js'
import { mountLegend } from '../../kit/legend.js'
import { signedMap } from '../../kit/signed.js'
import { mountSlider } from '../../kit/slider.js'
import { MINUS, fixed, plural } from '../../pure/number.js'
import { upTo, whole } from '../../pure/parameters.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */
/**
 * ranges: least and largest product of each distance i − j, from 1 − t on; parts: what each pair adds; speeds: radians a token.
 * @typedef {{q: number[][], k: number[][], plain_q: number[], plain_k: number[], products: number[][], parts: number[][][], speeds: number[], ranges: number[][]}} Rotations
 */

const FIRST = { i: 9, j: 6 }
const SIDE = 120 // of a dial's own coordinates
const HEAD = { size: 8, angle: 0.45 } // of an arrow's head, px and radians

/** @param {HTMLElement} el @param {Rotations} data @param {On} on */
export function mountRotations(el, data, on) {
  const t = data.q.length
  let at = FIRST
  const go = (/** @type {{i: number, j: number}} */ { i, j }) => on.change({ i: i === FIRST.i ? null : String(i), j: j === FIRST.j ? null : String(j) }, 'rotate')
  const stops = upTo(t).map((text, value) => ({ value, text }))
  const sliders = {
    i: mountSlider({ label: 'Query at i', stops, choose: (i) => go({ ...at, i }) }),
    j: mountSlider({ label: 'Key at j', stops, choose: (j) => go({ ...at, j }) }),
    both: mountSlider({ label: 'Both together', stops, choose: (to) => go(together(at, to, t)) }),
  }
  const pairs = data.speeds.length
  const longest = Math.max(...[data.q[0], data.k[0]].flatMap((x) => upTo(pairs).map((_, p) => Math.hypot(x[2 * p], x[2 * p + 1]))))
  const dials = data.speeds.map((speed, pair) => mountDial({ pair, speed, scale: (SIDE / 2 - 6) / longest }))
  const product = h('p', { class: 'product' })
  const same = h('p', { class: 'dim' })
  const most = Math.ceil(Math.max(...data.products.flat().map(Math.abs)))
  const grid = mountGrid({ label: 'Products of every query and key position', rows: upTo(t), columns: upTo(t), cell: 15, every: 4, names: { row: 'query at', column: 'key at', value: 'product' }, on: { choose: (i, j) => go({ i, j }) } })
  const legend = mountLegend({ ticks: [fixed(-most, 0), '0', fixed(most, 0)], means: 'q · k' })
  put(el, h('div', { class: 'turning' },
    h('div', {}, sliders.i.el, sliders.j.el, sliders.both.el, h('div', { class: 'dials' }, ...dials.map((dial) => dial.el)),
      h('div', { class: 'turn-key' }, key('q', 'query'), key('k', 'key'), key('before', 'as they were at position 0')), product, same),
    h('div', {}, grid.el, h('div', { class: 'under' }, legend.el))))

  return {
    /** @param {Parameters} state */
    update(state) {
      const [i, j] = [whole(state.i, t) ?? FIRST.i, whole(state.j, t) ?? FIRST.j]
      at = { i, j }
      sliders.i.update(i)
      sliders.j.update(j)
      sliders.both.update(Math.min(i, j))
      dials.forEach((dial, pair) => dial.update({ q: arrow(data.q[i], pair), k: arrow(data.k[j], pair), before: [arrow(data.plain_q, pair), arrow(data.plain_k, pair)], part: data.parts[i][j][pair] }))
      put(product, `q · k = ${sum(data.parts[i][j])} = `, h('b', {}, fixed(data.products[i][j], 7)))
      const [low, high] = data.ranges[i - j + t - 1]
      const places = t - Math.abs(i - j)
      put(same, `i − j = ${fixed(i - j, 0)}. ${places === 1 ? 'There is one place' : `All ${plural(places, 'place')}`} with this distance: from ${fixed(low, 7)} to ${fixed(high, 7)}.`)
      const map = signedMap()
      grid.update({ values: data.products, map, range: [-most, most], chosen: at, format: (x) => fixed(x, 3) })
      legend.update(map)
    },
  }
}

/** Both moved so that the lower stands at `to`, as far as there are positions. @param {{i: number, j: number}} at @param {number} to @param {number} t */
function together({ i, j }, to, t) {
  const low = Math.min(to, t - 1 - Math.abs(i - j))
  const by = low - Math.min(i, j)
  return { i: i + by, j: j + by }
}

/** @param {number[]} x @param {number} pair @returns {[number, number]} */
const arrow = (x, pair) => [x[2 * pair], x[2 * pair + 1]]

/** One pair as two arrows in a plane. @param {{pair: number, speed: number, scale: number}} opts speed in radians a token, scale in px */
function mountDial({ pair, speed, scale }) {
  const plane = s('svg', { viewBox: `${-SIDE / 2} ${-SIDE / 2} ${SIDE} ${SIDE}`, role: 'img' })
  const part = h('b')
  const degrees = fixed((speed * 180) / Math.PI, 2)
  return {
    el: h('div', { class: 'dial' }, plane, h('span', {}, `pair ${pair}: ${degrees}° a token`), h('span', {}, 'adds ', part)),
    /** @param {{q: [number, number], k: [number, number], before: [number, number][], part: number}} now */
    update({ q, k, before, part: adds }) {
      const told = `Pair ${pair}: query [${q.map((x) => fixed(x, 3)).join(', ')}], key [${k.map((x) => fixed(x, 3)).join(', ')}]`
      put(plane, s('title', {}, told),
        s('circle', { r: SIDE / 2 - 1 }), s('path', { class: 'axis', d: `M${-SIDE / 2 + 1} 0H${SIDE / 2 - 1}M0 ${-SIDE / 2 + 1}V${SIDE / 2 - 1}` }),
        s('path', { class: 'arrow q before', d: shaft(before[0], scale) }), s('path', { class: 'arrow k before', d: shaft(before[1], scale) }),
        s('path', { class: 'arrow k', d: shaft(k, scale) + head(k, scale) }), s('path', { class: 'arrow q', d: shaft(q, scale) + head(q, scale) }))
      attr(plane, 'aria-label', told)
      put(part, fixed(adds, 3))
    },
  }
}

/** From the middle to (x, y), which points up. @param {[number, number]} to @param {number} scale */
const shaft = ([x, y], scale) => `M0 0L${(x * scale).toFixed(2)} ${(-y * scale).toFixed(2)}`

/** @param {[number, number]} to @param {number} scale */
function head([x, y], scale) {
  const [endX, endY] = [x * scale, -y * scale]
  const back = Math.atan2(-endY, -endX)
  const wing = (/** @type {number} */ turn) => `${(endX + HEAD.size * Math.cos(back + turn)).toFixed(2)} ${(endY + HEAD.size * Math.sin(back + turn)).toFixed(2)}`
  return `M${wing(HEAD.angle)}L${endX.toFixed(2)} ${endY.toFixed(2)}L${wing(-HEAD.angle)}`
}

/** ".753 − .487 + .647". @param {number[]} parts */
const sum = (parts) => parts.map((x, at) => (at ? `${x < 0 ? MINUS : '+'} ${fixed(Math.abs(x), 3)}` : fixed(x, 3))).join(' ')

/** @param {string} name @param {string} text */
const key = (name, text) => h('span', {}, h('i', { class: name }), text)
