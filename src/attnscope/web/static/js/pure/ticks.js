// Where the ticks of a chart's axis stand: round numbers, or powers of a base, and the place of a value between two ends.

import { fixed } from './number.js'

/**
 * An axis from `low` to `high`; base 0 is linear, 2 or 10 a logarithm.
 * @typedef {{low: number, high: number, base: number}} Axis
 */

/** Round numbers from low to high, at most `most` of them. @param {number} low @param {number} high @param {number} [most] */
export function roundTicks(low, high, most = 6) {
  const span = high - low
  if (!(span > 0)) return [low]
  const rough = span / Math.max(1, most - 1)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map((size) => size * power).find((size) => Math.floor(span / size + 1e-9) + 1 <= most) ?? 10 * power
  const out = []
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) out.push(Number((n * step).toPrecision(12)))
  return out
}

/** Powers of the base from low to high, thinned to at most `most`. @param {number} low @param {number} high @param {number} base @param {number} [most] */
export function powerTicks(low, high, base, most = 8) {
  const log = (/** @type {number} */ x) => Math.log(x) / Math.log(base)
  const first = Math.ceil(log(low) - 1e-9)
  const last = Math.floor(log(high) + 1e-9)
  const every = Math.max(1, Math.ceil((last - first + 1) / most))
  const out = []
  for (let power = first; power <= last; power += every) out.push(base ** power)
  return out
}

/** @param {Axis} axis @param {number} [most] */
export const ticksOf = (axis, most) => (axis.base ? powerTicks(axis.low, axis.high, axis.base, most) : roundTicks(axis.low, axis.high, most))

/** A tick as it is written: 10, .25, 1,024, 1e−8. @param {number} x */
export function tickText(x) {
  const written = fixed(x, Math.abs(x) < 0.001 ? 0 : 4)
  return written.includes('.') ? written.replace(/\.?0+$/, '') : written
}

/** The place of x on the axis, 0 at its low end and 1 at its high one. @param {Axis} axis @param {number} x */
export function placeOn(axis, x) {
  const [low, high, at] = axis.base ? [Math.log(axis.low), Math.log(axis.high), Math.log(x)] : [axis.low, axis.high, x]
  return high > low ? (at - low) / (high - low) : 0.5
}

/**
 * The axis that holds all values: from 0, or the given ends, and up to a round number; a logarithm's ends are powers.
 * @param {number[]} values @param {{base?: number, min?: number, max?: number}} [wanted] @returns {Axis}
 */
export function axisOver(values, { base = 0, min, max } = {}) {
  const held = values.filter((x) => Number.isFinite(x) && (!base || x > 0))
  const least = held.length ? Math.min(...held) : base || 0
  const most = held.length ? Math.max(...held) : 1
  if (base) {
    const power = (/** @type {number} */ x, /** @type {(n: number) => number} */ round) => base ** round(Math.log(x) / Math.log(base))
    return { low: min ?? power(least * (1 + 1e-9), Math.floor), high: max ?? power(most * (1 - 1e-9), Math.ceil), base }
  }
  const low = min ?? Math.min(0, least)
  if (max !== undefined) return { low, high: max, base }
  const ticks = roundTicks(low, most)
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1
  return { low, high: low + Math.max(1, Math.ceil((most - low) / step - 1e-9)) * step, base }
}

/**
 * Heights for labels beside one another, `apart` px at least, each as near its wish as order allows, inside low to high.
 * @param {number[]} wishes @param {number} apart @param {number} low @param {number} high
 */
export function spreadOut(wishes, apart, low, high) {
  const order = wishes.map((_, at) => at).sort((a, b) => wishes[a] - wishes[b])
  const out = [...wishes]
  let before = low - apart
  for (const at of order) before = out[at] = Math.max(out[at], before + apart)
  let after = high + apart
  for (const at of order.reverse()) after = out[at] = Math.min(out[at], after - apart)
  return out
}
