// Every pair of heads by how far its rows are apart: the mean and the largest total variation.

import { attr, h, put } from '../../dom.js'
import { count, weight, weight7 } from '../../pure/number.js'
import { mountSeg } from '../seg.js'

/** @typedef {import("../../types.js").Ranked} Ranked @typedef {import("../../types.js").HeadDifference} HeadDifference */

/** @param {HTMLElement} el @param {{by: (by: "mean"|"largest") => void, choose: (layer: number, head: number) => void}} on */
export function mountRanks(el, on) {
  const by = mountSeg('Ranked by', /** @type {{value: "mean"|"largest", text: string}[]} */ ([{ value: 'mean', text: 'mean' }, { value: 'largest', text: 'largest' }]), on.by)
  const about = h('p', { class: 'small dim' })
  const body = h('tbody', {})
  const table = h('table', { role: 'grid', 'aria-label': 'Heads by how much they differ', 'aria-readonly': 'true' },
    h('thead', {}, h('tr', { role: 'row' }, ...['head', 'mean', 'largest', 'at row'].map((name) => h('th', { role: 'columnheader', scope: 'col' }, name)))), body)
  const left = h('div', { class: 'small faint' })
  put(el, h('div', { class: 'sec' }, h('h2', {}, 'Heads'), h('span', { class: 'small faint' }, 'that differ most'), h('div', { class: 'end' }, by.el)), about, h('div', { class: 'scroll' }, table), left)
  /** @type {HeadDifference[]} */
  let order = []
  body.addEventListener('click', (event) => {
    const row = event.target instanceof Element ? event.target.closest('tr') : null
    if (row) choose(Number(row.dataset.at))
  })
  body.addEventListener('keydown', (event) => {
    const at = order.findIndex((_, n) => body.children[n] === document.activeElement)
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -order.length, End: order.length }[event.key]
    if (at < 0 || !step) return
    event.preventDefault()
    const to = Math.max(0, Math.min(order.length - 1, at + step))
    choose(to)
    requestAnimationFrame(() => /** @type {HTMLElement|undefined} */ (body.children[to])?.focus())
  })
  /** @param {number} at */
  const choose = (at) => on.choose(order[at].layer, order[at].head)
  return {
    clear() {
      order = []
      put(body)
      put(about)
      put(left)
    },
    /** @param {{found: Ranked, order: HeadDifference[], by: "mean"|"largest", chosen: HeadDifference|null}} data */
    update(data) {
      by.update(data.by)
      const first = data.order[0]
      const alone = first && (first.rows_a || first.rows_b) ? `; ${count(first.rows_a)} of A and ${count(first.rows_b)} of B have no fellow` : ''
      put(about, `Total variation of rows: 0 equal, 1 nothing in common. Aligned by ${data.found.align}${first ? `, ${count(first.rows)} rows compared${alone}` : ''}.`)
      if (order.length !== data.order.length || order.some((head, at) => head !== data.order[at])) {
        order = data.order
        put(body, ...order.map((head, at) => h('tr', { role: 'row', tabindex: '-1', 'data-at': at }, h('td', { role: 'gridcell' }, nameOf(head)),
          ...[head.mean, head.largest].map((value) => h('td', { role: 'gridcell', title: value === null ? '' : weight7(value) }, value === null ? '–' : weight(value))),
          h('td', { role: 'gridcell' }, head.row_a === null ? '–' : count(head.row_a)))))
      }
      order.forEach((head, at) => {
        const row = /** @type {HTMLElement} */ (body.children[at])
        attr(row, 'aria-selected', head === data.chosen)
        row.tabIndex = head === data.chosen ? 0 : -1
      })
      put(left, ...data.found.left_out.map((text) => h('p', {}, `Left out: ${text}`)))
    },
  }
}

/** @param {HeadDifference} head */
const nameOf = ({ layer, head, layer_b: other, head_b: fellow }) => (layer === other && head === fellow ? `L${layer} · H${head}` : `L${layer} · H${head} and L${other} · H${fellow}`)
