// What is compared: two models or recordings, a text for each model, and how the texts are aligned.

import { h, put } from '../../dom.js'
import { ALIGNS } from '../../pure/compare.js'
import { count } from '../../pure/number.js'
import { mountSeg } from '../seg.js'

/** @typedef {import("../../pure/compare.js").Align} Align @typedef {"a"|"b"} Side */
/** @typedef {{models: import("../../types.js").Model[], limits: {most: number, cells: Record<string, number>}, a: string, b: string, ta: string|null, tb: string|null, align: Align}} Data ta, tb: null for a recording */

/** @param {HTMLElement} el @param {{choose: (side: Side, model: string) => void, text: (side: Side, text: string) => void, align: (align: Align) => void, swap: () => void}} on */
export function mountPick(el, on) {
  const sides = /** @type {Side[]} */ (['a', 'b']).map((side) => {
    const letter = side.toUpperCase()
    const select = h('select', { class: 'btn', 'aria-label': `What ${letter} is`, onchange: () => on.choose(side, select.value) })
    const text = h('textarea', { class: 'field', rows: 2, 'aria-label': `The text of ${letter}`, spellcheck: 'false', onchange: () => on.text(side, text.value) })
    return { select, text, box: h('div', { class: 'side' }, h('span', { class: 'small faint' }, letter), select, text) }
  })
  const align = mountSeg('How the texts are aligned', ALIGNS.map((value) => ({ value, text: value })), on.align)
  put(el, sides[0].box, sides[1].box, h('div', { class: 'end' }, h('span', { class: 'small dim' }, 'Aligned by'), align.el,
    h('button', { class: 'btn quiet', type: 'button', title: 'Swap the two (s)', onclick: on.swap }, 'Swap')))
  /** @type {unknown} */
  let listed = null
  return {
    /** @param {Data} data */
    update({ models, limits, a, b, ta, tb, align: how }) {
      const chosen = [[a, ta], [b, tb]]
      sides.forEach(({ select, text }, at) => {
        const [model, own] = chosen[at]
        if (listed !== models) put(select, ...models.map(({ id, label }) => h('option', { value: id, disabled: (limits.cells[id] ?? 0) > limits.most }, said(id, label, limits))))
        select.value = model ?? ''
        text.hidden = own === null
        if (own !== null && document.activeElement !== text && text.value !== own) text.value = own
      })
      listed = models
      align.update(how)
    },
  }
}

/** A recording with how large it is where it is too large. @param {string} id @param {string} label @param {Data["limits"]} limits */
const said = (id, label, { most, cells }) => ((cells[id] ?? 0) > most ? `${label}: ${count(cells[id])} cells, ${count(most)} are compared here; attnscope compare takes all` : label)
