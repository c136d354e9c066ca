// Whose heads are shown: a survey that was given as a file, or a model or recording of which the app makes one.

import { h, put, say } from '../../dom.js'

/** @typedef {import("../../types.js").SurveyEntry} SurveyEntry */

const GROUPS = /** @type {const} */ ([['file', 'Surveys'], ['recording', 'Recordings'], ['model', 'Models']])

/** @param {HTMLElement} el @param {{choose: (entry: SurveyEntry) => void, meanings: () => void}} on */
export function mountPick(el, on) {
  const select = h('select', { class: 'btn', 'aria-label': 'Whose heads' })
  const about = h('span', { class: 'small faint num' })
  const means = h('button', { class: 'btn quiet', type: 'button', title: 'Definition and source of every score (m)', onclick: on.meanings }, 'What scores mean')
  put(el, h('div', { class: 'sec' }, h('h2', {}, 'Heads'), h('span', { class: 'picker' }, select), about, h('div', { class: 'end' }, means)))
  /** @type {SurveyEntry[]} */
  let listed = []
  select.addEventListener('change', () => {
    const entry = listed.find(({ id }) => id === select.value)
    if (entry) on.choose(entry)
  })
  return {
    /** @param {{surveys: SurveyEntry[], of: string, words: string, table: boolean}} data */
    update({ surveys, of, words, table }) {
      if (listed !== surveys) {
        listed = surveys
        put(select, ...GROUPS.map(([kind, label]) => {
          const own = surveys.filter((entry) => entry.kind === kind)
          return own.length > 0 && h('optgroup', { label }, ...own.map(({ id, label: word }) => h('option', { value: id }, word)))
        }))
      }
      if (select.value !== of) select.value = of
      say(about, words)
      means.hidden = !table
    },
    focus: () => select.focus(),
  }
}
