// The largest cells of the head as a list one can fly to.

import { attr, h, put } from '../../dom.js'
import { distanceWords, hasDistances } from '../../pure/map/marks.js'
import { count, weight7 } from '../../pure/number.js'
import { pieces } from '../chip.js'

/** @typedef {import("../../types.js").LargeCell} LargeCell @typedef {import("../../types.js").Axis} Axis @typedef {import("../../types.js").Site} Site @typedef {{i: number, j: number}} Cell */
/** @typedef {{cells: LargeCell[]|undefined, problem: string, site: Site, head: number, axes: {rows: Axis, columns: Axis}, chosen: Cell|null, list: "apart"|"all", second: import("../../pure/values.js").Second|null, title: string}} Data list: whether something is left out; second: what is listed in place of weights */
/** @typedef {{fly: (cell: Cell) => void, list: (list: "apart"|"all") => void}} On */

/** What the columns hold, and whether their names are written. */
const HEADS = [
  { name: 'weight', written: true }, { name: 'query i', written: true }, { name: 'query’s token', written: false },
  { name: 'key j', written: true }, { name: 'key’s token', written: false }, { name: 'distance', written: true },
]

/** @param {HTMLElement} el @param {On} on */
export function mount(el, on) {
  const every = h('input', { type: 'checkbox', onchange: () => on.list(every.checked ? 'all' : 'apart') })
  const leftOut = h('span', {})
  const left = h('label', { class: 'check small' }, every, ' ', leftOut)
  const save = h('button', { class: 'btn quiet', type: 'button', onclick: () => shown && download(shown) }, 'CSV')
  const body = h('tbody', {})
  const head = h('tr', {})
  const table = h('table', { class: 'num' }, h('thead', {}, head), body)
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
      if (shown?.site !== data.site || shown.second?.name !== data.second?.name) put(head, ...headsOf(data))
      shown = data
      every.checked = data.list === 'all'
      put(leftOut, hasDistances(data.site) ? 'First token and diagonal too' : 'First key too')
      save.disabled = !data.cells?.length
      empty.hidden = Boolean(data.cells?.length)
      put(empty, data.problem || nothing(data))
      list.hidden = !data.cells?.length
      if (data.cells && listed !== data.cells) put(body, ...data.cells.map((cell, at) => line(cell, at, data)))
      listed = data.cells
      data.cells?.forEach(({ i, j }, at) => attr(body.rows[at], 'aria-current', i === data.chosen?.i && j === data.chosen.j ? 'true' : null))
    },
  }
}

/** @param {Data} data */
function headsOf({ site, second }) {
  const told = HEADS.filter(({ name }) => name !== 'distance' || hasDistances(site))
  return told.map(({ name, written }, at) => h('th', { scope: 'col', class: name === 'distance' ? 'far' : null }, at === 0 && second ? second.name : written ? name : h('span', { class: 'sr' }, name)))
}

/** @param {Data} data */
function nothing({ cells, list, site, second }) {
  if (!cells) return 'Looking for them…'
  const what = second?.name ?? 'weight'
  return list === 'all' ? `No ${what} is above 0 here.` : `No ${what} is above 0 here but those of the ${hasDistances(site) ? 'first token and the diagonal' : 'first key'}.`
}

/** @param {LargeCell} cell @param {number} at @param {Data} data */
function line({ weight, i, j }, at, { site, axes }) {
  const word = (/** @type {Axis} */ axis, /** @type {number} */ where) => h('td', {}, h('code', { dir: 'auto' }, ...(axis.tokens[where] ? pieces(axis.tokens[where]) : [])))
  return h('tr', { tabindex: at ? '-1' : '0' }, h('td', { class: 'w' }, weight7(weight)), h('td', {}, count(i)), word(axes.rows, i), h('td', {}, count(j)), word(axes.columns, j), hasDistances(site) && h('td', { class: 'far' }, distanceWords(site, i, j)))
}

/** Each line carries the certificate of its head. @param {Data} data */
function download({ cells, site, head, axes, second, title }) {
  const quoted = (/** @type {string} */ text) => `"${text.replaceAll('"', '""')}"`
  const { verdict, z } = site.certificate[head] ?? { verdict: 'not kept', z: null }
  const of = [quoted(site.name), site.layer, head, verdict, z ?? '']
  const lines = (cells ?? []).map(({ weight, i, j }) => [weight, i, quoted(axes.rows.tokens[i]?.text ?? ''), j, quoted(axes.columns.tokens[j]?.text ?? ''), ...of].join(','))
  const url = URL.createObjectURL(new Blob([[`${second ? 'weight_times_length' : 'weight'},query,query_token,key,key_token,module,layer,head,certificate,z`, ...lines].join('\r\n') + '\r\n'], { type: 'text/csv' }))
  h('a', { href: url, download: `${title.replace(/[^\p{L}\p{N}]+/gu, '-').toLowerCase()}-largest-cells${second ? '-values' : ''}.csv` }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
