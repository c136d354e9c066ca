// What stands along the sides of a heatmap: labels of tokens or positions, and bars with their numbers.

import { attr, css, h, put, say } from '../dom.js'
import { tickPositions } from '../pure/layout.js'
import { count, two } from '../pure/number.js'

/** @typedef {import("../types.js").Span} Span @typedef {import("../pure/layout.js").Layout} Layout */
/** @typedef {{label: string, faint: boolean}} Word */

const TAB = { left: 16, top: 34 } // px along the axis of a tab that holds a position

/**
 * One axis of labels. The chosen and the pointed-at position each have a tab of their own, shown even where labels are thinned.
 * @param {HTMLElement} el @param {"left"|"top"} side
 */
export function mountAxis(el, side) {
  const chosen = h('b', { class: 'tab chosen' })
  const pointed = h('b', { class: 'tab pointed', hidden: true })
  const labels = h('div', { 'aria-hidden': 'true' })
  put(el, labels, pointed, chosen)
  /** @type {{span: Span, layout: Layout, word: (at: number) => Word, upright: boolean}|null} */
  let shown = null

  /** @param {HTMLElement} tab @param {number} at */
  function place(tab, at) {
    if (!shown) return
    const { span, layout, word } = shown
    const inside = at >= span.start && at < span.start + span.size
    tab.hidden = !inside
    if (!inside) return
    say(tab, layout.labelled ? word(at).label : count(at))
    const size = layout.labelled ? Math.max(layout.cell, 14) : TAB[side]
    const spot = middle(at - span.start, layout.cell, side, size)
    if (side === 'top') spot.left = Math.max(0, Math.min(layout.width - size, spot.left))
    css(tab, spot)
  }

  return {
    /** @param {{span: Span, layout: Layout, word: (at: number) => Word, upright: boolean, chosen: number|null}} data */
    update(data) {
      shown = data
      const { span, layout, word } = data
      attr(el, 'data-upright', data.upright && layout.labelled ? '' : null)
      el.classList.toggle('ticks', !layout.labelled)
      const at = layout.labelled ? Array.from({ length: span.size }, (_, k) => span.start + k) : ticksBeside(span, layout.cell, data.chosen, side)
      put(labels, ...at.map((position) => {
        const { label, faint } = layout.labelled ? word(position) : { label: count(position), faint: true }
        return h('span', { class: faint ? 'faint' : '', style: middle(position - span.start, layout.cell, side, layout.labelled ? layout.cell : 16) }, label)
      }))
      chosen.hidden = data.chosen === null
      if (data.chosen !== null) place(chosen, data.chosen)
      pointed.hidden = true
    },
    /** @param {number|null} at */
    point(at) {
      if (at === null) pointed.hidden = true
      else place(pointed, at)
    },
  }
}

/** Positions to write, without those that the chosen one's tab would cover. @param {Span} span @param {number} cell @param {number|null} chosen @param {"left"|"top"} side */
function ticksBeside(span, cell, chosen, side) {
  const ticks = tickPositions(span, cell, side === 'top' ? 40 : 26)
  return chosen === null ? ticks : ticks.filter((at) => Math.abs(at - chosen) * cell >= TAB[side])
}

/**
 * Bars of one number a position. Their length is the amount; the number stands beside the chosen and the pointed-at one.
 * @param {HTMLElement} el @param {"right"|"bottom"} side
 */
export function mountBars(el, side) {
  const bars = h('div', { 'aria-hidden': 'true' })
  const chosenNumber = h('b', { class: 'amount chosen' })
  const pointedNumber = h('b', { class: 'amount pointed', hidden: true })
  put(el, bars, chosenNumber, pointedNumber)
  const along = side === 'right' ? 'top' : 'left'
  const [thick, long] = side === 'right' ? ['height', 'width'] : ['width', 'height']
  /** @type {{values: Float32Array, span: Span, cell: number, most: number, length: number, skip: number}|null} */
  let shown = null
  let mark = -1

  /** @param {HTMLElement} number @param {number} at */
  function place(number, at) {
    if (!shown || at < shown.span.start || at >= shown.span.start + shown.span.size) return void (number.hidden = true)
    const { values, span, cell, most, length } = shown
    number.hidden = false
    number.hidden = Number.isNaN(values[at]) // a row that was left out of every sum
    say(number, two(values[at]))
    css(number, { [along]: (at - span.start + 0.5) * cell, [side === 'right' ? 'left' : 'top']: reach(values[at], most, length) + 4 })
  }

  return {
    /** @param {{values: Float32Array, span: Span, cell: number, most: number, length: number, chosen: number|null, skip: number}} data length: px of the longest; skip: a position that is hidden */
    update(data) {
      const { values, span, cell, most, length, skip } = data
      const same = shown?.values === values && shown.cell === cell && shown.most === most && shown.skip === skip && shown.span.start === span.start && shown.span.size === span.size
      shown = data
      if (!same) {
        const width = cell >= 12 ? Math.min(14, cell - 8) : cell >= 5 ? cell - 2 : cell
        put(bars, ...Array.from({ length: span.size }, (_, k) =>
          h('i', { style: { [along]: k * cell + (cell - width) / 2, [thick]: width, [long]: span.start + k === skip ? 0 : reach(values[span.start + k], most, length) } })))
        mark = -1
      }
      bars.children[mark]?.classList.remove('chosen')
      mark = data.chosen === null ? -1 : data.chosen - span.start
      bars.children[mark]?.classList.add('chosen')
      chosenNumber.hidden = data.chosen === null
      if (data.chosen !== null) place(chosenNumber, data.chosen)
      pointedNumber.hidden = true
    },
    /** @param {number|null} at */
    point(at) {
      chosenNumber.classList.toggle('behind', at !== null)
      if (at === null) pointedNumber.hidden = true
      else place(pointedNumber, at)
    },
  }
}

/** @param {number} value @param {number} most @param {number} length */
function reach(value, most, length) {
  return value > 0 && most > 0 ? Math.max(1, Math.min(1, value / most) * length) : 0
}

/**
 * A label of `size` px, its middle on the middle of the k-th cell.
 * @param {number} k @param {number} cell @param {"left"|"top"} side @param {number} size @returns {Record<string, number>}
 */
function middle(k, cell, side, size) {
  const start = (k + 0.5) * cell - size / 2
  return side === 'left' ? { top: start, height: size, 'line-height': size } : { left: start, width: size }
}
