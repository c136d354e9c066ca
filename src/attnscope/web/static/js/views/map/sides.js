// Side bars at the zoom of the plane: entropy of each query, weight received by each key.

import { attr, css, h, put } from '../../dom.js'
import { reduced } from '../../pure/map/paint.js'
import { two } from '../../pure/number.js'

/** @typedef {{values: Float32Array, from: number, scale: number, length: number, most: number, chosen: number|null, name?: string, colour: string, accent: string}} Data name: in place of the usual one; length: px along the plane; most: the amount of a bar of full length */

/**
 * @param {HTMLElement} el @param {"right"|"bottom"} side
 * @param {{name: string, how: "mean"|"max", long: number}} what long: px of the longest bar
 */
export function mountSide(el, side, { name, how, long }) {
  const canvas = h('canvas', { role: 'img' })
  const number = h('b', { class: 'amount' })
  put(el, canvas, number)
  return {
    /** @param {Data|null} data */
    update(data) {
      el.hidden = !data
      if (!data) return
      const { values, from, scale, length, most, chosen } = data
      const ratio = devicePixelRatio
      const end = Math.min(values.length, from + length / scale)
      const bars = barsOf(values, { from, end, scale, how })
      const size = side === 'right' ? { width: long, height: length } : { width: length, height: long }
      Object.assign(canvas, { width: Math.round(size.width * ratio), height: Math.round(size.height * ratio) })
      css(canvas, size)
      attr(canvas, 'aria-label', `${data.name ?? name}${scale < 1 ? `, ${how === 'max' ? 'the largest' : 'the mean'} of each pixel` : ''}`)
      const context = canvas.getContext('2d')
      if (!context) return
      context.scale(ratio, ratio)
      context.fillStyle = data.colour
      for (const { at, thick, amount } of bars) {
        if (Number.isNaN(amount) || most <= 0) continue
        const reach = Math.max(amount > 0 ? 1 : 0, Math.min(1, amount / most) * long)
        const wide = Math.max(0.5, thick - (thick >= 6 ? 1 : 0))
        if (side === 'right') context.fillRect(0, at, reach, wide)
        else context.fillRect(at, 0, wide, reach)
      }
      const inside = chosen !== null && chosen > from - 1 && chosen < end
      number.hidden = !inside
      if (!inside) return
      const middle = (chosen - from + 0.5) * scale
      const amount = values[chosen]
      const reach = Math.min(1, Math.max(0, (amount || 0) / (most || 1))) * long
      context.fillStyle = data.accent
      const bar = Math.max(2, scale - 1)
      if (side === 'right') context.fillRect(0, middle - bar / 2, Math.max(3, reach), bar)
      else context.fillRect(middle - bar / 2, 0, bar, Math.max(3, reach))
      put(number, Number.isNaN(amount) ? '–' : two(amount))
      css(number, side === 'right' ? { top: middle, left: Math.min(long - 30, reach + 4) } : { left: Math.max(12, Math.min(length - 12, middle)), top: Math.min(long - 14, reach + 2) })
    },
  }
}

/**
 * A bar a cell where cells are wide enough, else one for as many cells as two pixels hold; px from the edge of the plane.
 * @param {Float32Array} values @param {{from: number, end: number, scale: number, how: "mean"|"max"}} part
 * @returns {{at: number, thick: number, amount: number}[]}
 */
function barsOf(values, { from, end, scale, how }) {
  if (scale >= 2) {
    const first = Math.floor(from)
    return Array.from(values.subarray(first, Math.ceil(end)), (amount, at) => ({ at: (first + at - from) * scale, thick: scale, amount }))
  }
  const bars = Math.max(1, Math.round(((end - from) * scale) / 2))
  const thick = ((end - from) * scale) / bars
  return Array.from(reduced(values, from, end, bars, how), (amount, at) => ({ at: at * thick, thick, amount }))
}
