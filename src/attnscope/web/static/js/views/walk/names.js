// What a number of the walk is called, for the tooltip and for a screen reader.

import { keyOf } from './model.js'

/** @typedef {import("./model.js").Model} Model @typedef {import("../../pure/walk/types.js").Ref} Ref */

/** @type {Record<string, string>} */
const VECTORS = { q: 'query', k: 'key', v: 'value', out: 'output' }
/** @type {Record<string, string>} */
const MATRICES = { wq: 'Wq', wk: 'Wk', wv: 'Wv' }
/** @type {Record<string, (query: string, key: string) => string>} */
const PAIRS = {
  products: (query, key) => `q · k of ${query} and ${key}`,
  scaled: (query, key) => `scaled product of ${query} and ${key}`,
  scores: (query, key) => `score of ${query} and ${key}`,
  exps: (query, key) => `exp of the score of ${query} and ${key}`,
  weights: (query, key) => `weight of ${query} on ${key}`,
  parts: (query, key) => `${key}’s part of ${query}’s output`,
}

/** The words that share a row of x. @param {Model} model @param {number} row */
function sharing({ values, sheet }, row) {
  return sheet.words.find((_, at) => values.row(at) === row) ?? ''
}

/** @param {Model} model @param {Ref} ref @param {boolean} whole without the component, where a vector is meant */
export function nameOf(model, { grid, at }, whole = false) {
  const { labels } = model.values
  const component = (/** @type {number} */ c) => (whole ? '' : `, component ${c + 1}`)
  if (grid === 'x') return `x of ${sharing(model, at[0])}${component(at[1])}`
  if (grid in MATRICES) return whole ? MATRICES[grid] : `${MATRICES[grid]}, row ${at[0] + 1}, column ${at[1] + 1}`
  if (grid in VECTORS) return `${VECTORS[grid]} of ${labels[at[0]]}${component(at[1])}`
  if (grid === 'sums') return `row sum of ${labels[at[0]]}`
  if (grid === 'wholes') return `${labels[at[0]]}’s weights together`
  const name = PAIRS[grid](labels[at[0]], labels[at[1]])
  return grid === 'parts' ? name + component(at[2]) : name
}

/** A number with all of its digits, as one would type it. @param {number} x */
export const exact = (x) => String(x).replace(/^(-?)0\./, '$1.').replace('-', '−')

const VECTOR_GRIDS = new Set(['x', 'q', 'k', 'v', 'out', 'parts', 'wq', 'wk', 'wv'])

/**
 * The numbers something was made of, components of one vector together: [{name: "query of sat", values: [2, 0]}].
 * @param {Model} model @param {Ref[]} refs @returns {{name: string, values: number[]}[]}
 */
export function sourcesOf(model, refs) {
  /** @type {Map<string, {name: string, values: number[]}>} */
  const found = new Map()
  for (const ref of refs) {
    const matrix = ref.grid in MATRICES
    const vector = VECTOR_GRIDS.has(ref.grid)
    const group = matrix ? ref.grid : keyOf(ref.grid, vector ? ref.at.slice(0, -1) : ref.at)
    const one = found.get(group) ?? { name: matrix ? `${MATRICES[ref.grid]}, column ${ref.at[1] + 1}` : nameOf(model, ref, vector), values: [] }
    one.values.push(model.values.at(ref.grid, ...ref.at))
    found.set(group, one)
  }
  return [...found.values()]
}
