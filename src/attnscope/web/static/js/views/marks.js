// What stands over and beside the cells of a heatmap: padding, the rule where the model began to write, and the learned sink.

import { css, h, put } from '../dom.js'
import { weight7 } from '../pure/number.js'
import { paintCells } from '../pure/paint.js'
import { paddedParts } from '../pure/places.js'

/** @typedef {import("../types.js").Span} Span @typedef {import("../pure/layout.js").Layout} Layout @typedef {import("../types.js").Scale} Scale */
/** @typedef {{padded: (at: number) => boolean, generated: number|null}} Along what is known of the positions of a side */
/** @typedef {{rows: Span, columns: Span, down: Along, across: Along}} Marks */

export const SINK = { wide: 12, gap: 5 } // px of the learned sink's column

/** Over the plane: hatches on padding, and rules where the written part begins. */
export function mountOver() {
  const el = h('div', { class: 'over', 'aria-hidden': 'true' })
  return {
    el,
    /** @param {Marks} marks @param {Layout} layout */
    update({ rows, columns, down, across }, { cell, width, height }) {
      const bands = [
        ...paddedParts(rows, down.padded).map(({ start, size }) => ({ left: 0, top: start * cell, width, height: size * cell })),
        ...paddedParts(columns, across.padded).map(({ start, size }) => ({ left: start * cell, top: 0, width: size * cell, height })),
      ]
      const rules = [
        ruleAt(rows, down.generated, cell, (at) => ({ left: 0, top: at - 1, width, height: 0 })),
        ruleAt(columns, across.generated, cell, (at) => ({ left: at - 1, top: 0, width: 0, height })),
      ]
      put(el, ...bands.map((box) => h('i', { class: 'pad', style: box })), ...rules.flatMap((box) => (box ? [h('i', { class: 'rule', style: box })] : [])))
    },
  }
}

/**
 * The column of the learned sink, at the left edge: what of each row goes to no key.
 * @param {HTMLElement} el
 */
export function mountSink(el) {
  const canvas = h('canvas', { 'aria-hidden': 'true' })
  const cap = h('span', { class: 'cap' }, 'sink')
  put(el, cap, canvas)
  /** @type {{values: Float32Array, rows: Span, cell: number}|null} */
  let shown = null
  el.addEventListener('pointermove', (event) => {
    if (!shown) return
    const row = shown.rows.start + Math.floor((event.clientY - canvas.getBoundingClientRect().top) / shown.cell)
    const value = shown.values[row]
    el.title = value >= 0 ? `${weight7(value)} of row ${row} goes to the learned sink` : ''
  })
  return {
    /** @param {Float32Array|null} values of every row @param {Span} rows @param {Layout} layout @param {{scale: Scale, map: Uint32Array, page: number}} colours */
    update(values, rows, { cell, gap }, colours) {
      el.hidden = !values
      shown = values && { values, rows, cell }
      if (!values) return
      const ratio = devicePixelRatio
      const weights = values.subarray(rows.start, rows.start + rows.size)
      // one column, as tall as its rows and SINK.wide across
      const { pixels, width, height } = paintCells({ weights, rows: rows.size, columns: 1, firstRow: rows.start }, { cell, gap, ratio }, colours)
      const wide = Math.round(SINK.wide * ratio)
      const own = new Uint32Array(wide * height)
      for (let y = 0; y < height; y++) own.fill(pixels[y * width], y * wide, (y + 1) * wide)
      Object.assign(canvas, { width: wide, height })
      canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(own.buffer), wide, height), 0, 0)
      css(canvas, { width: SINK.wide, height: height / ratio })
    },
  }
}

/** @param {Span} span @param {number|null} at @param {number} cell @param {(px: number) => Record<string, number>} box */
function ruleAt(span, at, cell, box) {
  return at !== null && at > span.start && at < span.start + span.size ? box((at - span.start) * cell) : null
}
