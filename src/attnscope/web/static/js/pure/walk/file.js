// A sheet as a file: JSON with one row of numbers a line, read again with every number checked.

import { isNumber } from './read.js'
import { isWord } from './word.js'

/** @typedef {import("./types.js").Sheet} Sheet */

const FORMAT = 'attnscope-walk'
const MATRICES = /** @type {const} */ (['wq', 'wk', 'wv'])
const PROJECTED = /** @type {const} */ (['q', 'k', 'v'])
const KEYS = ['format', 'version', 'words', 'x', ...MATRICES, 'edited', 'causal', 'scale']
const WORDS = [2, 8]
const DEPTH = [1, 8]

/** @param {Sheet} sheet @returns {string} */
export function writeSheet(sheet) {
  const rows = (/** @type {unknown[]} */ list) => (list.length ? `[\n${list.map((one) => '    ' + line(one)).join(',\n')}\n  ]` : '[]')
  const entries = KEYS.map((key) => {
    const value = /** @type {Record<string, any>} */ (sheet)[key]
    return `  ${line(key)}: ${key === 'x' || key.startsWith('w') && key !== 'words' ? rows(value) : line(value)}`
  })
  return `{\n${entries.join(',\n')}\n}\n`
}

/** @param {string} text @returns {{sheet: Sheet}|{problem: string}} */
export function readSheet(text) {
  try {
    return sheetIn(JSON.parse(text))
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: 'This file is not JSON. Open one that was saved here.' }
    if (error instanceof RangeError) return { problem: 'This file is nested too deeply. Open one that was saved here.' }
    throw error
  }
}

/** @param {any} data @returns {{sheet: Sheet}|{problem: string}} */
function sheetIn(data) {
  const problem = problemIn(data)
  if (problem) return { problem }
  const { format, version, words, x, wq, wk, wv, edited = {}, causal = false, scale = true } = data
  /** @type {Sheet} */
  const sheet = { format, version, words: words.map((/** @type {string} */ word) => word.normalize('NFC')), x, wq, wk, wv, edited: { q: edited.q ?? [], k: edited.k ?? [], v: edited.v ?? [] }, causal, scale }
  return { sheet: /** @type {Sheet} */ (withoutMinusZero(sheet)) }
}

/** What does not fit in a file's data, or "". @param {any} data @returns {string} */
export function problemIn(data) {
  if (!isRecord(data) || data.format !== FORMAT) return 'This file is no example of the walk. Open one that was saved here.'
  if (data.version !== 1) return `This file has version ${String(line(data.version)).slice(0, 20)}; version 1 is wanted.`
  const unknown = Object.keys(data).filter((key) => !KEYS.includes(key))
  if (unknown.length) return `This file holds ${unknown.join(', ').slice(0, 60)}, which no example has.`
  return wordsProblem(data.words) || gridsProblem(data) || editsProblem(data) || switchesProblem(data)
}

/** @param {any} words @returns {string} */
export function wordsProblem(words) {
  if (!Array.isArray(words) || !within(words.length, WORDS)) return 'This file does not hold 2 to 8 words.'
  const bad = words.find((word) => typeof word !== 'string' || !isWord(word.normalize('NFC')))
  return bad === undefined && !words.includes(undefined) ? '' : 'One of the words in this file is empty, too long or cannot be shown.'
}

/** @param {any} data */
function gridsProblem(data) {
  const distinct = new Set(data.words.map((/** @type {string} */ word) => word.normalize('NFC'))).size
  const width = data.x?.[0]?.length
  const d = data.wq?.[0]?.length
  if (!fits(data.x, distinct, width) || !within(width, DEPTH)) return `x in this file is not ${distinct} rows, one for each distinct word, of 1 to 8 finite numbers.`
  const bad = MATRICES.find((name) => !fits(data[name], width, d) || !within(d, DEPTH))
  return bad ? `${bad} in this file is not ${width} rows of 1 to 8 finite numbers, as many in all three matrices.` : ''
}

/** @param {any} data */
function editsProblem({ edited = {}, words, wq }) {
  if (!isRecord(edited) || Object.keys(edited).some((grid) => !PROJECTED.some((one) => one === grid))) return 'The edited cells in this file are not listed under q, k and v.'
  for (const [grid, cells] of Object.entries(edited)) {
    if (!Array.isArray(cells)) return `The edited cells of ${grid} in this file are no list.`
    const taken = new Set(cells.map((cell) => `${cell?.[0]},${cell?.[1]}`))
    const good = cells.every((cell) => Array.isArray(cell) && cell.length === 3 && inside(cell[0], words.length) && inside(cell[1], wq[0].length) && isNumber(cell[2]))
    if (!good || taken.size !== cells.length) return `An edited cell of ${grid} in this file is not on the sheet, or not a finite number, or there twice.`
  }
  return ''
}

/** @param {any} data */
function switchesProblem({ causal = false, scale = true }) {
  return typeof causal === 'boolean' && typeof scale === 'boolean' ? '' : 'causal and scale in this file are not true or false.'
}

/** @param {any} rows @param {number} height @param {number} width */
const fits = (rows, height, width) => Array.isArray(rows) && rows.length === height
  && rows.every((row) => Array.isArray(row) && row.length === width && row.every(isNumber))

/** @param {any} at @param {number} size */
const inside = (at, size) => Number.isInteger(at) && at >= 0 && at < size

/** @param {any} size @param {number[]} limits */
const within = (size, [least, most]) => Number.isInteger(size) && size >= least && size <= most

/** @param {any} value @returns {value is Record<string, any>} */
const isRecord = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** @param {any} value @returns {any} */
function withoutMinusZero(value) {
  if (typeof value === 'number') return value + 0
  if (Array.isArray(value)) return value.map(withoutMinusZero)
  return isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutMinusZero(one)])) : value
}

/** @param {unknown} value @returns {string} */
function line(value) {
  if (Array.isArray(value)) return `[${value.map(line).join(', ')}]`
  if (!isRecord(value)) return JSON.stringify(value)
  return `{${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${line(one)}`).join(', ')}}`
}
