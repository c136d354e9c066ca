// The table: a row for each head, sorted by a click on a column; arrows move, Enter chooses.

import { attr, h, put } from '../../dom.js'
import { columnsOf, nameOf, shown } from '../../pure/heads/table.js'
import { glyph } from './glyph.js'

/** @typedef {import("../../pure/heads/table.js").Survey} Survey @typedef {import("../../pure/heads/table.js").State} State @typedef {import("../../pure/heads/table.js").Head} Head @typedef {import("../../pure/heads/table.js").Score} Score */

/** @param {HTMLElement} el @param {Survey} survey @param {{sort: (column: string) => void, choose: (name: string) => void, open?: (name: string) => void}} on open: goes to where the head is seen */
export function mount(el, survey, on) {
  const glyphs = new Map(survey.classes.map((rule) => [rule.name, rule.glyph]))
  const head = h('tr')
  const body = h('tbody')
  put(el, h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table of heads' }, h('table', {}, h('thead', {}, head), body)))
  body.addEventListener('click', (event) => {
    const row = event.target instanceof Element ? event.target.closest('tr') : null
    if (row?.dataset.head) on.choose(row.dataset.head)
  })
  body.addEventListener('dblclick', (event) => {
    const row = event.target instanceof Element ? event.target.closest('tr') : null
    if (row?.dataset.head) on.open?.(row.dataset.head)
  })
  body.addEventListener('keydown', (event) => {
    const rows = [...body.rows]
    const at = rows.findIndex((row) => row === document.activeElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key]
    if (event.key === 'Enter' && rows[at]?.dataset.head) on.choose(rows[at].dataset.head ?? '')
    else if (to !== undefined && rows[to]) move(rows[to])
    else return
    event.preventDefault()
  })

  /** @param {HTMLElement} row */
  function move(row) {
    for (const other of body.rows) other.tabIndex = -1
    row.tabIndex = 0
    row.focus()
  }

  /** @param {string} column @param {string} word @param {State} state @param {string} [title] */
  function heading(column, word, state, title) {
    const order = state.sort !== column ? 'none' : state.up ? 'ascending' : 'descending'
    const mark = order === 'none' ? '' : state.up ? ' ↑' : ' ↓'
    return h('th', { scope: 'col', 'aria-sort': order, title }, h('button', { type: 'button', onclick: () => on.sort(column) }, word + mark))
  }

  /** @param {Head} one @param {Score[]} columns @param {State} state @param {boolean} stop */
  function row(one, columns, state, stop) {
    const chosen = nameOf(one) === state.chosen
    const words = one.classes.length ? one.classes : ['no class']
    const marks = words.map((word) => h('span', { class: 'of' }, glyph(glyphs.get(word) ?? 'none'), word))
    const cells = columns.map(({ name, unit }) => {
      const score = one.scores[name]
      return h('td', { class: score.value === null ? 'num faint' : 'num', title: score.reason || `uniform ${shown(score.uniform, unit)}, shuffled ${shown(score.shuffled, unit)}${score.low === null ? ', one text' : `, 95% ${shown(score.low, unit)} to ${shown(score.high, unit)}`}` }, shown(score.value, unit))
    })
    const place = one.kind === 'cross' ? 'cross ' : one.stack === 'encoder' ? 'enc ' : ''
    const tr = h('tr', { 'data-head': nameOf(one), tabindex: stop ? 0 : -1 }, h('th', { scope: 'row', class: 'num' }, `${place}L${one.layer} H${one.head}`), h('td', {}, ...marks), ...cells)
    attr(tr, 'aria-selected', chosen)
    return tr
  }

  return {
    /** @param {State} state @param {Head[]} heads in order */
    update(state, heads) {
      const columns = columnsOf(state, survey.scores)
      const focused = document.activeElement
      const held = focused instanceof HTMLElement && body.contains(focused) ? focused.dataset.head : undefined
      const column = [...head.cells].findIndex((cell) => cell.contains(focused))
      put(head, heading('layer', 'head', state), h('th', { scope: 'col' }, 'class'), ...columns.map((score) => heading(score.name, score.title, state, score.definition)))
      const stop = Math.max(0, heads.findIndex((one) => nameOf(one) === state.chosen))
      put(body, ...heads.map((one, at) => row(one, columns, state, at === stop)))
      const same = held && [...body.rows].find((tr) => tr.dataset.head === held)
      if (same) move(same)
      else if (column >= 0) head.cells[Math.min(column, head.cells.length - 1)].querySelector('button')?.focus()
    },
  }
}
