// What the model expects after the chosen token: the likeliest tokens, each with a bar and its number.

import { h, put } from '../dom.js'
import { count, two, weight } from '../pure/number.js'
import { spoken } from '../pure/marks.js'
import { chip } from './chip.js'

/** @typedef {import("../types.js").Prediction} Prediction */

/** @param {HTMLElement} el */
export function mount(el) {
  const after = h('span', { class: 'faint small' })
  const entropy = h('span', { class: 'faint small' })
  const title = h('h2', {}, 'Next token')
  const list = h('div', { class: 'preds', role: 'list' })
  put(el, h('div', { class: 'sec' }, title, after, h('div', { class: 'end' }, entropy)), list)
  /** @type {Prediction|null} */
  let shown = null
  return {
    /** @param {{unit: "character"|"token", predicts: boolean, prediction: Prediction|null, why: string}} data why: what is said where nothing is predicted */
    update({ unit, predicts, prediction, why }) {
      if (predicts && prediction === shown) return
      shown = prediction
      put(title, `Next ${unit}`)
      put(after, prediction ? `after ${count(prediction.after)}` : '')
      put(entropy, prediction ? `entropy ${two(prediction.entropy)} nats` : '')
      if (!predicts) return put(list, h('p', { class: 'dim small' }, why))
      if (!prediction) return
      const most = prediction.top[0]?.p ?? 1
      put(list, ...prediction.top.map(({ token, p }) =>
        h('div', { class: 'pred', role: 'listitem', 'aria-label': `${spoken(token)}, ${weight(p)}` },
          chip(token), h('span', { class: 'bar' }, h('i', { style: { width: `${(100 * p) / most}%` } })), h('span', { class: 'p' }, weight(p)))))
    },
    /** @param {"character"|"token"} unit */
    clear(unit) {
      put(title, `Next ${unit}`)
      shown = null
      for (const el of [after, entropy, list]) put(el)
    },
    destroy() {},
  }
}
