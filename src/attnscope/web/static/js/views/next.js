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
  /** @type {import("../types.js").Knocked|null} */
  let knocked = null
  return {
    /** @param {{unit: "character"|"token", predicts: boolean, prediction: Prediction|null, why: string, without: import("../types.js").Knocked|null}} data why: what is said where nothing is predicted; without: what a knock-out told */
    update({ unit, predicts, prediction, why, without }) {
      if (predicts && prediction === shown && without === knocked) return
      shown = prediction
      knocked = without
      put(title, `Next ${unit}`)
      put(after, prediction ? `after ${count(prediction.after)}` : '')
      put(entropy, prediction ? `entropy ${two(prediction.entropy)} nats` : '')
      if (!predicts) return put(list, h('p', { class: 'dim small' }, why))
      if (!prediction) return
      const most = prediction.top[0]?.p ?? 1
      const instead = new Map(without?.next.position === prediction.after ? [...(without.next.before ?? []), ...(without.next.after ?? [])].map((one) => [one.id, one.after]) : [])
      put(list, ...prediction.top.map(({ token, p }) => {
        const moved = instead.get(token.id)
        const said = moved === undefined ? '' : `, ${weight(moved)} without`
        return h('div', { class: moved === undefined ? 'pred' : 'pred moved', role: 'listitem', 'aria-label': `${spoken(token)}, ${weight(p)}${said}` },
          chip(token), h('span', { class: 'bar' }, h('i', { style: { width: `${(100 * p) / most}%` } })), h('span', { class: 'p' }, weight(p)), moved !== undefined && h('span', { class: 'p without' }, `→ ${weight(moved)}`))
      }))
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
