// A long text cut into stretches of tokens, so that a page builds those alone that one comes to see.

import { breaksAfter } from './marks.js'

/** @typedef {import("../types.js").Token} Token */
/** @typedef {{first: number, end: number}} Stretch its tokens: end itself is the next stretch's */

export const LEAST = 256 // tokens from which on a stretch ends after the next line break
const WHOLE = 2 * LEAST // tokens that make one stretch in any case

/** Stretches in order. They end where a line of the text ends, and past WHOLE tokens without one wherever they are. @param {Token[]} tokens @returns {Stretch[]} */
export function stretchesOf(tokens) {
  /** @type {Stretch[]} */
  const out = []
  for (let first = 0; first < tokens.length; ) {
    const end = endOf(tokens, first)
    out.push({ first, end })
    first = end
  }
  return out
}

/** @param {Token[]} tokens @param {number} first */
function endOf(tokens, first) {
  if (tokens.length - first <= WHOLE) return tokens.length
  for (let end = first + LEAST; end < first + WHOLE; end++) if (breaksAfter(tokens[end - 1])) return end
  return first + WHOLE
}

/** Which of the stretches holds a token. @param {Stretch[]} stretches @param {number} at */
export function stretchAt(stretches, at) {
  let [low, high] = [0, stretches.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (stretches[middle].first <= at) low = middle
    else high = middle - 1
  }
  return low
}
