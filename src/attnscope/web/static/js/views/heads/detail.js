// The chosen head: every score with its baselines, its interval, the text where it is largest, or why there is none.

import { h, put } from '../../dom.js'
import { glyph } from './glyph.js'
import { bestText, nameOf, shown } from '../../pure/heads/table.js'

/** @typedef {import("../../pure/heads/table.js").Survey} Survey @typedef {import("../../pure/heads/table.js").State} State */

/** @param {HTMLElement} el @param {Survey} survey @param {(head: import("../../pure/heads/table.js").Head, state: State) => HTMLElement|null} [beside] what stands before the scores */
export function mount(el, survey, beside = () => null) {
  /** @param {string} kind @param {number|null} at */
  const textName = (kind, at) => (at === null ? '' : survey.texts.filter((text) => text.kind === kind)[at]?.name ?? '')
  const glyphs = new Map(survey.classes.map((rule) => [rule.name, rule.glyph]))
  /** @param {import("../../pure/heads/table.js").Head} head */
  const marks = ({ classes }) => (classes.length ? classes : ['no class']).map((word) => h('span', { class: 'of small dim' }, glyph(glyphs.get(word) ?? 'none'), word))
  return {
    /** @param {State} state */
    update(state) {
      const head = survey.heads.find((one) => nameOf(one) === state.chosen)
      el.hidden = !head
      if (!head) return
      const lines = survey.scores.map(({ name, title, definition, formula, text, unit }) => {
        const one = head.scores[name]
        const say = (/** @type {number|null} */ value) => shown(value, unit)
        const about = { scope: 'row', title: `${definition} ${formula}` }
        if (one.value === null) return h('tr', {}, h('th', about, title), h('td', { class: 'faint', colspan: 5 }, one.reason))
        const between = one.low === null ? 'one text' : `${say(one.low)} to ${say(one.high)}`
        return h('tr', {}, h('th', about, title), h('td', { class: 'num' }, h('b', {}, say(one.value))), h('td', { class: 'num' }, say(one.uniform)), h('td', { class: 'num' }, say(one.shuffled)), h('td', { class: 'num' }, between), h('td', { class: 'faint' }, textName(text, bestText(one))))
      })
      const titles = ['score', 'value', 'uniform', 'shuffled', '95%', 'most on'].map((word) => h('th', { scope: 'col' }, word))
      put(
        el,
        h('div', { class: 'sec' }, h('h2', {}, `Layer ${head.layer} · Head ${head.head}`), ...marks(head), h('span', { class: 'small faint name', title: head.name }, head.name)),
        beside(head, state),
        h('table', {}, h('thead', {}, h('tr', {}, ...titles)), h('tbody', {}, ...lines)),
      )
    },
  }
}
