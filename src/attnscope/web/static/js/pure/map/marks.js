// What is drawn over a map: where the model began to write, edges of windows, documents, padding, and a few lines with their names.

import { count, weight } from '../number.js'

/** @typedef {import("../../types.js").Site} Site @typedef {import("../../types.js").Axis} Axis @typedef {import("../../types.js").Sides} Sides */
/**
 * rule: a row or column at which something begins; edge: the cells at that distance before their query; document: positions [first, end) that see no others; pad: columns [first, end).
 * @typedef {{kind: "rule", side: "row"|"column", at: number, word: string}|{kind: "edge", distance: number, word: string}|{kind: "pad", first: number, end: number}|{kind: "document", first: number, end: number}} Mark
 */
/** A line of the picture with its name, at a cell. @typedef {{i: number, j: number, name: string, text: string}} Callout */

/** @param {Site} site @param {{rows: Axis, columns: Axis}} axes @returns {Mark[]} */
export function marksOf(site, { rows, columns }) {
  /** @type {Mark[]} */
  const out = []
  const first = site.offset ?? 0
  const row = rows.generated === null ? null : rows.generated - (site.kind === 'self' ? first : 0)
  if (row !== null && row > 0 && row < site.tq) out.push({ kind: 'rule', side: 'row', at: row, word: 'generated' })
  if (columns.generated !== null && columns.generated > 0 && columns.generated < site.tk) out.push({ kind: 'rule', side: 'column', at: columns.generated, word: 'generated' })
  for (const [distance, word] of /** @type {[number|null, string][]} */ ([[site.sight.left, 'window'], [site.sight.right === null ? null : -site.sight.right, 'window']])) {
    if (distance !== null && distance !== 0 && site.kind === 'self') out.push({ kind: 'edge', distance, word })
  }
  for (const [begin, end] of documentsOf(site)) out.push({ kind: 'document', first: begin, end })
  for (const [begin, end] of site.sight.padding) out.push({ kind: 'pad', first: begin, end })
  return out
}

/**
 * The edge of a window: the left edge of the first key that a row sees, or where that key stands ahead (a distance under 0) the right edge of the last one.
 * @param {{distance: number, offset: number}} window @param {{start: number, end: number}} rows @param {boolean} steps around cells; else straight, for cells too small to tell
 * @returns {{i: number, j: number}[]} corners of cells
 */
export function edgeOf({ distance, offset }, { start, end }, steps) {
  const column = (/** @type {number} */ i) => i + offset - distance + (distance < 0 ? 1 : 0)
  if (!steps) return [start, end].map((i) => ({ i, j: column(i) }))
  return Array.from({ length: end - start }, (_, at) => start + at).flatMap((i) => [{ i, j: column(i) }, { i: i + 1, j: column(i) }])
}

/** Where texts that do not see one another stand. @param {Site} site @returns {[number, number][]} */
function documentsOf(site) {
  const { documents, form, width } = site.sight
  if (form !== 'chunks' || !width) return documents
  const [first, last] = [site.sight.padding.find(([begin]) => begin === 0)?.[1] ?? 0, site.tk]
  return Array.from({ length: Math.ceil((last - first) / width) }, (_, at) => [first + at * width, Math.min(last, first + (at + 1) * width)])
}

/** Names of what stands out in the numbers of rows. @param {Site} site @param {Sides} sides @returns {Callout[]} */
export function calloutsOf(site, sides) {
  const mean = meanOf(sides.first)
  if (mean === null || mean < 0.05 || site.tk < 64) return []
  const firstKey = site.sight.padding.find(([begin]) => begin === 0)?.[1] ?? 0
  const [top, bottom] = site.sight.rows ?? [0, site.tq]
  return [{ i: Math.floor(top + (bottom - top) * 0.32), j: firstKey, name: 'First token', text: `${weight(mean)} of all weight` }]
}

/** Mean of the numbers that there are. @param {Float32Array|undefined} values */
function meanOf(values) {
  if (!values) return null
  let [sum, seen] = [0, 0]
  for (const value of values) if (!Number.isNaN(value)) [sum, seen] = [sum + value, seen + 1]
  return seen ? sum / seen : null
}

/** Whether a query and a key stand on one line, so that there is a way between them; in cross attention there is none. @param {Site} site */
export const hasDistances = (site) => site.kind === 'self'

/** "75,187 tokens back", "the same position", "3 ahead"; "" in cross attention. @param {Site} site @param {number} i @param {number} j */
export function distanceWords(site, i, j) {
  if (!hasDistances(site)) return ''
  const back = i + (site.offset ?? 0) - j
  if (back === 0) return 'its own position'
  return back > 0 ? `${count(back)} back` : `${count(-back)} ahead`
}

/** Whether anything is visible in these rows and columns, as far as the shape of the mask tells. @param {Site} site @returns {(rows: [number, number], columns: [number, number]) => boolean} */
export function mayBeSeen(site) {
  const { causal, offset, sight } = site
  const first = offset ?? 0
  const { left } = sight
  const ahead = causal || sight.form === 'causal' || sight.form === 'chunks' ? 0 : sight.right
  return ([top, bottom], [begin, end]) =>
    (ahead === null || begin <= bottom - 1 + first + ahead) && (left === null || end - 1 >= top + first - left)
}
