// The state of Explore speaks of tokens; a run in words has words along its sides. These lead from one to the other.

import { chosen, isSite } from './sites.js'

/** @typedef {import("../types.js").State} State @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Token} Token */

/** What a run may show. @type {readonly State["words"][]} */
export const WORDS = ['', 'mark', 'fold']

/** @type {WeakMap<Token[], Map<number, number>>} */
const known = new WeakMap()

/** Whether a side has words rather than tokens. @param {Token[]} side */
export const isWords = (side) => side[0]?.places !== undefined

/** The word that holds a token; the token itself where there are none. @param {Token[]} side @param {number|null} token */
export function wordAt(side, token) {
  if (token === null || !isWords(side)) return token
  const map = known.get(side) ?? new Map(side.flatMap((word, at) => (word.places ?? []).map((/** @type {number} */ place) => [place, at])))
  known.set(side, map)
  return map.get(token) ?? null
}

/** The token for which a word stands in the address: a query's last, after which the model goes on, a key's first. @param {Token[]} side @param {number|null} word @param {"query"|"key"} as */
export function tokenOf(side, word, as) {
  const places = word === null ? undefined : side[word]?.places
  return places === undefined ? word : as === 'query' ? places[places.length - 1] : places[0]
}

/** A state in the words of a result. @param {State} state @param {Result} result @returns {State} */
export function inWords(state, result) {
  const at = chosen(state, result)
  if (!isSite(at)) return state
  const { places } = result
  return { ...state, i: wordAt(places[at.rows].tokens, state.i), j: wordAt(places[at.columns].tokens, state.j) }
}

/** A change that speaks of the words of a result, in tokens. @param {State} state @param {Partial<State>} patch @param {Result} result @returns {Partial<State>} */
export function inTokens(state, patch, result) {
  const at = chosen({ ...state, ...patch }, result)
  if (!isSite(at)) return patch
  const out = { ...patch }
  if (patch.i !== undefined) out.i = tokenOf(result.places[at.rows].tokens, patch.i, 'query')
  if (patch.j !== undefined) out.j = tokenOf(result.places[at.columns].tokens, patch.j, 'key')
  return out
}
