// The table of heads as data: which rows are shown, in which order, and what stands in the address.

import { two, weight } from '../number.js'

/**
 * @typedef {{value: number|null, uniform: number|null, shuffled: number|null, spread: number|null, low: number|null, high: number|null, texts: (number|null)[], reason: string}} Measured
 * @typedef {{site: number, name: string, order: number, layer: number, head: number, kind: string, stack: string, classes: string[], scores: Record<string, Measured>}} Head
 * @typedef {{name: string, title: string, definition: string, formula: string, source: string, text: string, unit: string}} Score
 * @typedef {{name: string, glyph: string, says: string, score: string}} Rule
 * @typedef {{model: Record<string, any>, texts: {kind: string, name: string, tokens: number}[], notes: string[], scores: Score[], classes: Rule[], heads: Head[]}} Survey
 * @typedef {{sort: string, up: boolean, only: string, x: string, y: string, chosen: string}} State only: a class, "none" for no class, "" for all; chosen: "site.head" or ""
 */

export const NONE = 'none'

/** @type {State} */
export const EMPTY = { sort: 'layer', up: true, only: '', x: 'induction_stripe', y: 'previous_token', chosen: '' }

const ACROSS = [EMPTY.x, 'induction_mass', 'entropy']
const UP = [EMPTY.y, 'sink', 'distance', 'local']

/** Whether any head has a value of a score. @param {Survey} survey @param {string} name */
export const isMeasured = (survey, name) => survey.heads.some((head) => (head.scores[name]?.value ?? null) !== null)

/** The state that nothing was chosen of: axes that this survey has values for. @param {Survey} survey @returns {State} */
export function byDefault(survey) {
  const first = (/** @type {string[]} */ names) => names.find((name) => isMeasured(survey, name)) ?? names[0]
  return { ...EMPTY, x: first(ACROSS), y: first(UP) }
}

/** The columns that are always there. */
export const MAIN = ['previous_token', 'induction_stripe', 'duplicate_token', 'sink', 'entropy']

/** What a head is called in the address. @param {Head} head */
export const nameOf = (head) => `${head.site}.${head.head}`

/** @param {Head} head @param {string} column @returns {number|null} */
export function valueOf(head, column) {
  if (column === 'layer') return head.site * 1e6 + head.head
  return head.scores[column]?.value ?? null
}

/** Rows by a column; what has no value stands last either way, and equal rows stay in the model's order. @param {Head[]} heads @param {string} column @param {boolean} up */
export function sorted(heads, column, up) {
  const place = new Map(heads.map((head, at) => [head, at]))
  const at = (/** @type {Head} */ head) => place.get(head) ?? 0
  return [...heads].sort((one, other) => {
    const a = valueOf(one, column)
    const b = valueOf(other, column)
    if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0) || at(one) - at(other)
    return (up ? a - b : b - a) || at(one) - at(other)
  })
}

/** @param {Head[]} heads @param {string} only */
export function filtered(heads, only) {
  if (!only) return heads
  return heads.filter((head) => (only === NONE ? !head.classes.length : head.classes.includes(only)))
}

/** How many heads are of each class, "none" among them. @param {Head[]} heads @param {Rule[]} rules @returns {Map<string, number>} */
export function counts(heads, rules) {
  return new Map([...rules.map((rule) => rule.name), NONE].map((name) => [name, filtered(heads, name).length]))
}

/** The columns that are shown: the main ones, and those that the scatter and the order speak of. @param {State} state @param {Score[]} scores */
export function columnsOf(state, scores) {
  const wanted = new Set([...MAIN, state.x, state.y, state.sort])
  return scores.filter((score) => wanted.has(score.name))
}

/** A number of a score as the table has it; – where there is none. @param {number|null} value @param {string} unit */
export function shown(value, unit) {
  if (value === null) return '–'
  return unit === 'weight' ? weight(value) : two(value)
}

/** The ends of an axis over the values of a score: 0 to 1 for a share of weight, else 0 to the largest. @param {Head[]} heads @param {Score} score */
export function reach(heads, score) {
  const values = heads.map((head) => head.scores[score.name]?.value ?? null).filter((value) => value !== null)
  return score.unit === 'weight' ? 1 : Math.max(1, ...values)
}

/** The text on which a head has a score most, by its place among the texts of the score's kind. @param {Measured} score @returns {number|null} */
export function bestText(score) {
  /** @type {number|null} */ let best = null
  score.texts.forEach((value, at) => {
    if (value !== null && (best === null || value > (score.texts[best] ?? -Infinity))) best = at
  })
  return best
}
