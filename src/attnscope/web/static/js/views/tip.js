// The tooltip of a cell: layer, head, weight to seven places, both tokens, rank in its row.

import { css, h, put } from '../dom.js'
import { tipPlace } from '../pure/layout.js'
import { count, weight7 } from '../pure/number.js'

/**
 * weight is under 0 where the cell is not visible; value: what is shown in its place, weight times value, and its name; rank is null while the row is not known.
 * @typedef {{title: string, i: number, j: number, query: string, key: string, weight: number, value: {name: string, amount: number}|null, rank: number|null, of: number|null}} TipData
 */

/** @param {HTMLElement} el */
export function mountTip(el) {
  el.hidden = true
  return {
    hide() {
      el.hidden = true
    },
    /**
     * @param {TipData} data
     * @param {{x: number, y: number, cell: number, plane: {width: number, height: number}, origin: {left: number, top: number}}|null} at null docks it
     */
    show(data, at) {
      put(el, ...content(data))
      el.hidden = false
      el.classList.toggle('docked', at === null)
      if (!at) return css(el, { left: '', top: '' })
      const { left, top } = tipPlace({ ...at, tip: { width: el.offsetWidth, height: el.offsetHeight } })
      css(el, { left: at.origin.left + left, top: at.origin.top + top })
    },
  }
}

/** @param {TipData} data */
function content({ title, i, j, query, key, weight, value, rank, of }) {
  const visible = weight >= 0
  return [
    h('div', { class: 'dim' }, title),
    h('b', {}, visible ? weight7(value ? value.amount : weight) : '0'),
    visible ? (value && h('span', { class: 'dim' }, ` ${value.name}`)) : h('span', { class: 'dim' }, ' not visible'),
    h('dl', {},
      h('dt', {}, 'query i'), h('dd', {}, `${count(i)} `, code(query)),
      h('dt', {}, 'key j'), h('dd', {}, `${count(j)} `, code(key)),
      ...(value && visible ? [h('dt', {}, 'weight'), h('dd', {}, weight7(weight))] : []),
      h('dt', {}, 'in its row'), h('dd', {}, visible && rank && of ? `${count(rank)} of ${count(of)}` : '–')),
  ]
}

/** @param {string} text */
const code = (text) => h('code', { dir: 'auto' }, text)
