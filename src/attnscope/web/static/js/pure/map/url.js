// The whole state of the map as the query of its address, and back.

import { SCALES } from '../scale.js'
import { REDUCTIONS } from './paint.js'

/** @typedef {import("../../types.js").MapState} MapState */

const NAMES = /** @type {const} */ (['model', 'text', 'site', 'layer', 'head', 'i', 'j'])

/** What cannot be read is left at its default: an old or mistyped link still opens. @param {string} search @returns {MapState} */
export function parse(search) {
  const query = new URLSearchParams(search)
  const theme = query.get('theme')
  return {
    model: query.get('model') || null,
    text: query.get('text'),
    site: whole(query.get('site')),
    layer: whole(query.get('layer')),
    head: whole(query.get('head')),
    i: whole(query.get('i')),
    j: whole(query.get('j')),
    pixel: REDUCTIONS.find((name) => name === query.get('pixel')) ?? 'max',
    scale: SCALES.find((name) => name === query.get('scale')) ?? 'log',
    view: viewOf(query.get('view')),
    marks: query.get('marks') !== '0',
    theme: theme === 'light' || theme === 'dark' ? theme : null,
  }
}

/** @param {MapState} state @returns {string} "?model=…", without what is at its default */
export function format(state) {
  const query = new URLSearchParams()
  for (const name of NAMES) if (state[name] !== null) query.set(name, String(state[name]))
  if (state.pixel !== 'max') query.set('pixel', state.pixel)
  if (state.scale !== 'log') query.set('scale', state.scale)
  if (state.view) query.set('view', [state.view.row, state.view.col, state.view.scale].map((x) => Number(x.toPrecision(9))).join(' '))
  if (!state.marks) query.set('marks', '0')
  if (state.theme) query.set('theme', state.theme)
  const text = query.toString()
  return text ? '?' + text : ''
}

/** @param {string|null} word */
const whole = (word) => (word !== null && /^\d{1,7}$/.test(word) ? Number(word) : null)

/** "row col scale"; null is the whole grid. @param {string|null} words @returns {import("./view.js").View|null} */
function viewOf(words) {
  const [row, col, scale, ...more] = (words ?? '').split(/[ +]/).map((word) => (/^\d+(\.\d+)?(e-?\d+)?$/.test(word) ? Number(word) : NaN))
  return more.length === 0 && [row, col, scale].every(Number.isFinite) && scale > 0 ? { row, col, scale } : null
}
