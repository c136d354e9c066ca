// The glossary as a list of words and their sentences.

import { h, put } from '../../dom.js'

/** @param {HTMLElement} el @param {{entries: import("../../kit/glossary.js").Entry[]}} data */
export function mountWords(el, { entries }) {
  put(el, h('dl', { class: 'words' }, ...entries.map(({ term, says }) => h('div', {}, h('dt', {}, term), h('dd', {}, says)))))
}
