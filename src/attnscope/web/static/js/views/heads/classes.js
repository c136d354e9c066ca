// The classes with how many heads each has; one of them narrows the table to its heads.

import { attr, h, put } from '../../dom.js'
import { NONE, counts } from '../../pure/heads/table.js'
import { glyph } from './glyph.js'

/** @typedef {import("../../pure/heads/table.js").Survey} Survey @typedef {import("../../pure/heads/table.js").State} State */

/** @param {HTMLElement} el @param {Survey} survey @param {{only: (name: string) => void}} on */
export function mount(el, survey, on) {
  const many = counts(survey.heads, survey.classes)
  const rules = [...survey.classes, { name: NONE, glyph: 'none', says: 'no rule holds' }]
  const buttons = new Map(
    rules.map(({ name, glyph: mark, says }) => {
      const word = name === NONE ? 'no class' : name
      const button = h('button', { class: 'btn quiet class', type: 'button', title: says, onclick: () => on.only(name) }, glyph(mark), word, ' ', h('span', { class: 'faint num' }, many.get(name) ?? 0))
      button.disabled = !many.get(name)
      return [name, button]
    }),
  )
  put(el, ...buttons.values())
  return {
    /** @param {State} state */
    update(state) {
      for (const [name, button] of buttons) attr(button, 'aria-pressed', state.only === name)
    },
  }
}
