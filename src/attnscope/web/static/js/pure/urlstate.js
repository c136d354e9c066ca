// The whole state of the page as the query of its address, and back.

import { SCALES } from './scale.js'

/** @typedef {import("../types.js").State} State */

/** @type {Readonly<State>} */
export const EMPTY = Object.freeze({
  model: null, text: null, site: null, layer: null, head: null, i: null, j: null,
  scale: 'linear', way: 'at', hide: false, theme: null,
})

/** What cannot be read is left at its default: an old or mistyped link still opens. @param {string} search @returns {State} */
export function parse(search) {
  const query = new URLSearchParams(search)
  const scale = SCALES.find((name) => name === query.get('scale'))
  const theme = query.get('theme')
  return {
    model: query.get('model') || null,
    text: query.get('text'),
    site: whole(query.get('site')),
    layer: whole(query.get('layer')),
    head: whole(query.get('head')),
    i: whole(query.get('i')),
    j: whole(query.get('j')),
    scale: scale ?? 'linear',
    way: query.get('way') === 'by' ? 'by' : 'at',
    hide: query.get('hide') === '1',
    theme: theme === 'light' || theme === 'dark' ? theme : null,
  }
}

/** @param {State} state @returns {string} "?model=…", without what is at its default */
export function format(state) {
  const query = new URLSearchParams()
  for (const name of /** @type {const} */ (['model', 'text', 'site', 'layer', 'head', 'i', 'j'])) {
    const value = state[name]
    if (value !== null) query.set(name, String(value))
  }
  if (state.scale !== 'linear') query.set('scale', state.scale)
  if (state.way !== 'at') query.set('way', state.way)
  if (state.hide) query.set('hide', '1')
  if (state.theme) query.set('theme', state.theme)
  const text = query.toString()
  return text ? '?' + text : ''
}

/** @param {string|null} word */
function whole(word) {
  return word !== null && /^\d{1,7}$/.test(word) ? Number(word) : null
}
