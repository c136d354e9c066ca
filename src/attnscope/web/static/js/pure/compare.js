// The state of Compare in its address, where a number lies on a map with a sign, and the pixels of a plane.

import { oneOf, someText, whole } from './spelling.js'

/** @typedef {"auto"|"position"|"token"|"text"} Align */
/**
 * All that a link to Compare holds. a, b: models; ta, tb: their texts; layer, head: of a; i, j: a slot of the rows and one of the columns.
 * @typedef {{a: string|null, b: string|null, ta: string|null, tb: string|null, align: Align, by: "mean"|"largest", scale: "log"|"linear",
 *   layer: number|null, head: number|null, i: number|null, j: number|null, theme: "light"|"dark"|null}} CompareState
 */

/** What Save hands out. */
export const FILES = [
  { form: 'csv', text: 'CSV', says: 'all heads, by how much they differ' },
  { form: 'json', text: 'JSON', says: 'the same for programs' },
  { form: 'png', text: 'PNG', says: 'these two heads and their difference as a picture' },
  { form: 'svg', text: 'SVG', says: 'the same as a drawing' },
]

/** @type {Align[]} */
export const ALIGNS = ['auto', 'position', 'token', 'text']

/** @type {import("./spelling.js").Field<"light"|"dark"|null>} */
const theme = { none: null, read: (word) => (word === 'light' || word === 'dark' ? word : null), write: String }

const FIELDS = /** @type {Record<string, import("./spelling.js").Field<any>>} */ ({
  a: someText, b: someText, ta: someText, tb: someText, align: oneOf(ALIGNS), by: oneOf(['mean', 'largest']), scale: oneOf(['log', 'linear']),
  layer: whole, head: whole, i: whole, j: whole, theme,
})

/** @param {string} search @returns {CompareState} */
export function parse(search) {
  const query = new URLSearchParams(search)
  return /** @type {CompareState} */ (Object.fromEntries(Object.entries(FIELDS).map(([name, { none, read }]) => [name, query.has(name) ? read(query.get(name) ?? '') : none])))
}

/** @param {CompareState} state @returns {string} */
export function format(state) {
  const values = /** @type {Record<string, any>} */ (state)
  const query = new URLSearchParams(Object.entries(FIELDS).filter(([name, { none }]) => values[name] !== none && values[name] !== null).map(([name, { write }]) => [name, write(values[name])]))
  const text = query.toString()
  return text ? `?${text}` : ''
}

const DECADES = 4

/** Where a difference lies on the map of differences: 0 least, .5 none, 1 most. @param {number} x −1 … 1 @param {"log"|"linear"} scale */
export function placeOf(x, scale) {
  const size = Math.min(1, Math.abs(x))
  const far = scale === 'linear' ? size : Math.max(0, 1 + Math.log10(Math.max(size, 1e-30)) / DECADES)
  return 0.5 + (Math.sign(x) * far) / 2
}

/** Ticks under the map of differences. @param {"log"|"linear"} scale */
export const differenceTicks = (scale) => (scale === 'log' ? ['−1', '−.01', '0', '+.01', '+1'] : ['−1', '−.5', '0', '+.5', '+1'])

/**
 * The pixels of a plane. NaN is a place without a fellow, −1 of a weight or Infinity of a difference what is not visible: both are left clear.
 * @param {Float32Array} values @param {{place: (value: number) => number, map: Uint32Array, gone: number, hidden: number}} look
 */
export function pixelsOf(values, { place, map, gone, hidden }) {
  const out = new Uint32Array(values.length)
  for (let at = 0; at < values.length; at++) {
    const value = values[at]
    if (Number.isNaN(value)) out[at] = gone
    else if (value === hidden) out[at] = 0
    else out[at] = map[Math.round(Math.max(0, Math.min(1, place(value))) * (map.length - 1))]
  }
  return out
}

/** Whose turn it is in a chat, as a colour that neither map has. @type {Record<string, string>} */
const ROLES = { system: '#85888e', developer: '#85888e', user: '#3d8f5f', assistant: '#8f62b8', tool: '#a07a1f' }
const OTHER_ROLE = '#5f8f9b'

/** @param {string} role */
export const roleColour = (role) => ROLES[role] ?? OTHER_ROLE

/**
 * Who speaks at each pixel of a side, null where nobody does.
 * @param {import("../types.js").Slot[]} slots @param {number} cells slots along a pixel
 * @returns {(string|null)[]}
 */
export const rolesOf = (slots, cells) => slots.filter((_, at) => at % cells === 0).map(({ a, b }) => (a ?? b)?.role ?? null)

/** "+.123", "−3e−5", "0". @param {number} x @param {(x: number) => string} weight */
export const signed = (x, weight) => (x > 0 ? `+${weight(x)}` : x < 0 ? `−${weight(-x)}` : '0')
