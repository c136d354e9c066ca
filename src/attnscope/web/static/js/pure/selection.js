// Which head, token and cell a state speaks of in a given run, and what a choice makes of it.

import { firstAxis } from './places.js'
import { chosen as chosenSite, isSite } from './sites.js'
import { largest } from './scale.js'

/** @typedef {import("../types.js").State} State @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Site} Site */
/** @typedef {import("../types.js").Missing} Missing */
/** @typedef {{at: Site|Missing|null, head: number, i: number, j: number|null}} Selection j is null until a row of weights is known */

/** @param {Pick<State, "site"|"layer"|"head"|"i"|"j"> & Partial<State>} state @param {Result} result @returns {Selection} */
export function resolve(state, result) {
  const at = chosenSite(state, result)
  if (!isSite(at)) return { at, head: state.head ?? 0, i: held(state.i ?? Infinity, firstAxis(result)?.tokens.length ?? 1), j: state.j }
  return {
    at,
    head: state.head === null ? Math.min(1, at.heads - 1) : held(state.head, at.heads),
    i: held(state.i ?? Infinity, at.tq),
    j: state.j === null ? null : held(state.j, at.tk),
  }
}

/** The key that a row looks at most; its own position where it sees none. @param {Float32Array} row @param {number} i */
export function strongest(row, i) {
  return largest(row, 1)[0] ?? Math.min(i, row.length - 1)
}

/**
 * Another token chosen in the token view. Looking at: it becomes the query, and the key stays where that query sees it.
 * Looked at by: it becomes the key, and the query stays where it sees that key.
 * @param {{i: number, j: number|null}} cell @param {"at"|"by"} way @param {number} token @param {boolean} causal
 */
export function chooseToken({ i, j }, way, token, causal) {
  if (way === 'at') return { i: token, j: j !== null && causal ? Math.min(j, token) : j }
  return { i: causal ? Math.max(i, token) : i, j: token }
}

/** The chosen token stays chosen when the way of looking is turned round. @param {{i: number, j: number|null}} cell @param {"at"|"by"} way the present one @returns {{way: "at"|"by", i: number, j: number}} */
export function turn({ i, j }, way) {
  const token = way === 'at' ? i : (j ?? i)
  return { way: way === 'at' ? 'by' : 'at', i: token, j: token }
}

/** @param {number} at @param {number} count */
function held(at, count) {
  return Math.max(0, Math.min(count - 1, at))
}
