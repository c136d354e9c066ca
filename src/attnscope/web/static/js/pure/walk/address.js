// A sheet in the address of the page: only what differs from the lesson's own, in a form that can be read.

import { problemIn, wordsProblem } from './file.js'
import { withWords } from './sheet.js'

/** @typedef {import("./types.js").Sheet} Sheet */
/** @typedef {import("./types.js").Recipe} Recipe */
/** @typedef {Record<string, string|undefined>} Parameters */

const GRIDS = /** @type {const} */ (['x', 'wq', 'wk', 'wv'])
const PROJECTED = /** @type {const} */ (['q', 'k', 'v'])

/**
 * words=the_dog_sat_down, wk=0_1*2_0*.5_.5*0_.5, edit=k_1_0_0*k_1_1_2, mask=causal, scale=off.
 * @param {Sheet} sheet @param {Sheet} fresh @returns {Record<string, string>}
 */
export function sheetToQuery(sheet, fresh) {
  /** @type {Record<string, string>} */
  const query = {}
  if (sheet.words.join('\n') !== fresh.words.join('\n')) query.words = sheet.words.map(escaped).join('_')
  const alike = sameRows(sheet.words, fresh.words)
  for (const grid of GRIDS) {
    const text = rowsToText(sheet[grid])
    if (!alike || text !== rowsToText(fresh[grid])) query[grid] = text
  }
  const edits = PROJECTED.flatMap((grid) => sheet.edited[grid].map((cell) => [grid, ...cell.map(numberToText)].join('_')))
  if (edits.length) query.edit = edits.join('*')
  if (sheet.causal !== fresh.causal) query.mask = sheet.causal ? 'causal' : 'none'
  if (sheet.scale !== fresh.scale) query.scale = sheet.scale ? 'on' : 'off'
  return query
}

/**
 * What cannot be read or does not fit is left as on the fresh sheet: an old or mistyped link still opens.
 * @param {Parameters} query @param {Sheet} fresh @param {Recipe} recipe @returns {Sheet}
 */
export function queryToSheet(query, fresh, recipe) {
  const switches = { causal: { causal: true, none: false }[query.mask ?? ''] ?? fresh.causal, scale: { on: true, off: false }[query.scale ?? ''] ?? fresh.scale }
  const words = readWords(query.words) ?? fresh.words
  const base = sameRows(words, fresh.words) ? { ...fresh, words } : withWords(fresh, words, recipe)
  const grids = Object.fromEntries(GRIDS.filter((grid) => query[grid]).map((grid) => [grid, textToRows(query[grid] ?? '')]))
  const sheet = { ...base, ...grids, edited: textToEdits(query.edit ?? ''), ...switches }
  return problemIn(sheet) ? { ...fresh, ...switches } : sheet
}

/** @param {string|undefined} text @returns {string[]|null} words that a sheet can have, or null */
function readWords(text) {
  const words = (text ?? '').split('_').map((word) => unescaped(word).normalize('NFC'))
  return wordsProblem(words) ? null : words
}

/** Whether the same positions share rows of x. @param {string[]} words @param {string[]} others */
const sameRows = (words, others) => words.map((word) => words.indexOf(word)).join() === others.map((word) => others.indexOf(word)).join()

/** @param {string} word */
const escaped = (word) => word.replaceAll('*', '*s').replaceAll('_', '*u')

/** @param {string} text */
const unescaped = (text) => text.replaceAll('*u', '_').replaceAll('*s', '*')

/** @param {number} x */
const numberToText = (x) => String(x).replace(/^(-?)0\./, '$1.').replace('+', '')

/** @param {number[][]} rows */
const rowsToText = (rows) => rows.map((row) => row.map(numberToText).join('_')).join('*')

/** @param {string} text */
const textToNumber = (text) => (text.trim() === '' ? NaN : Number(text) + 0)

/** @param {string} text */
const textToRows = (text) => text.split('*').map((row) => row.split('_').map(textToNumber))

/** @param {string} text @returns {Sheet["edited"]} */
function textToEdits(text) {
  /** @type {Sheet["edited"]} */
  const edited = { q: [], k: [], v: [] }
  for (const cell of text.split('*')) {
    const [grid, i, c, value] = cell.split('_')
    if (grid === 'q' || grid === 'k' || grid === 'v') edited[grid].push([textToNumber(i ?? ''), textToNumber(c ?? ''), textToNumber(value ?? '')])
  }
  return edited
}
