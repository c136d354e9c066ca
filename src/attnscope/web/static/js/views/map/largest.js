// The largest cells of the head as a list one can fly to.

import { attr, h, put } from '../../dom.js'
import { distanceWords } from '../../pure/map/marks.js'
import { count, weight7 } from '../../pure/number.js'
import { pieces } from '../chip.js'

/** @typedef {import("../../types.js").LargeCell} LargeCell @typedef {import("../../types.js").Axis} Axis @typedef {import("../../types.js").Site} Site @typedef {{i: number, j: number}} Cell */
/** @typedef {{cells: LargeCell[]|undefined, problem: string, site: Site, head: number, axes: {rows: Axis, columns: Axis}, chosen: Cell|null, plain: boolean, title: string}} Data plain: nothing is left out */
/** @typedef {{fly: (cell: Cell) => void, plain: (plain: boolean) => void}} On */

/** @type {[string, boolean][]} what a column holds, and whether its name is written */
const HEADS = [['weight', true], ['query i', true], ['query’s token', false], ['key j', true], ['key’s token', false], ['distance', true]]

/** @param {HTMLElement} el @param {On} on */
export function mount(el, on) {
  const every = h('input', { type: 'checkbox', onchange: () => on.plain(every.checked) })
  const left = h('label', { class: 'check small' }, every, ' First token and diagonal too')
  const save = h('button', { class: 'btn quiet', type: 'button', onclick: () => shown && download(shown) }, 'CSV')
  const body = h('tbody', {})
  const table = h('table', { class: 'num' }, h('thead', {}, h('tr', {}, ...HEADS.map(([text, shown]) => h('th', { scope: 'col' }, shown ? text : h('span', { class: 'sr' }, text))))), body)
  const list = h('div', { class: 'scroll', tabindex: '-1' }, table)
  const empty = h('p', { class: 'dim', hidden: true })
  put(el, h('div', { class: 'sec' }, h('h2', {}, 'Largest cells'), h('div', { class: 'end' }, left, save)), list, empty)
  /** @type {Data|null} */ let shown = null
  /** @type {LargeCell[]|undefined} */ let listed

  body.addEventListener('click', (event) => go(event.target))
  body.addEventListener('keydown', (event) => {
    const lines = [...body.rows]
    const at = lines.findIndex((line) => line === document.activeElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1 }[event.key]
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      go(event.target)
    } else if (to !== undefined && at >= 0) {
      event.preventDefault()
      const next = lines[Math.max(0, Math.min(lines.length - 1, to))]
      for (const line of lines) line.tabIndex = line === next ? 0 : -1
      next.focus()
    }
  })
  /** @param {EventTarget|null} target */
  function go(target) {
    const line = target instanceof Element ? target.closest('tr') : null
    const cell = line && shown?.cells?.[line.rowIndex - 1]
    if (cell) on.fly(cell)
  }

  return {
    /** @param {Data} data */
    update(data) {
      shown = data
      every.checked = data.plain
      save.disabled = !data.cells?.length
      empty.hidden = Boolean(data.cells?.length)
      put(empty, data.problem || (!data.cells ? 'Looking for them…' : data.plain ? 'No weight is above 0 here.' : 'No weight is above 0 here but those of the first token and the diagonal.'))
      list.hidden = !data.cells?.length
      if (data.cells && listed !== data.cells) put(body, ...data.cells.map((cell, at) => line(cell, at, data)))
      listed = data.cells
      data.cells?.forEach(({ i, j }, at) => attr(body.rows[at], 'aria-current', i === data.chosen?.i && j === data.chosen.j ? 'true' : null))
    },
  }
}

/** @param {LargeCell} cell @param {number} at @param {Data} data */
function line({ weight, i, j }, at, { site, axes }) {
  const word = (/** @type {Axis} */ axis, /** @type {number} */ where) => h('td', {}, h('code', { dir: 'auto' }, ...(axis.tokens[where] ? pieces(axis.tokens[where]) : [])))
  return h('tr', { tabindex: at ? '-1' : '0' }, h('td', { class: 'w' }, weight7(weight)), h('td', {}, count(i)), word(axes.rows, i), h('td', {}, count(j)), word(axes.columns, j), h('td', {}, distanceWords(site, i, j)))
}

/** Each line carries the certificate of its head. @param {Data} data */
function download({ cells, site, head, axes, title }) {
  const quoted = (/** @type {string} */ text) => `"${text.replaceAll('"', '""')}"`
  const { verdict, z } = site.certificate[head] ?? { verdict: 'not kept', z: null }
  const of = [quoted(site.name), site.layer, head, verdict, z ?? '']
  const lines = (cells ?? []).map(({ weight, i, j }) => [weight, i, quoted(axes.rows.tokens[i]?.text ?? ''), j, quoted(axes.columns.tokens[j]?.text ?? ''), ...of].join(','))
  const url = URL.createObjectURL(new Blob([['weight,query,query_token,key,key_token,module,layer,head,certificate,z', ...lines].join('\r\n') + '\r\n'], { type: 'text/csv' }))
  h('a', { href: url, download: `${title.replace(/[^\p{L}\p{N}]+/gu, '-').toLowerCase()}-largest-cells.csv` }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
