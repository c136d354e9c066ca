// Sentences for what a reader cannot see move.

import { count, weight } from './number.js'

const WORDS = ['', 'largest', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth']

/** "second", "12th", "101st". @param {number} n */
export function ordinal(n) {
  if (n < WORDS.length) return WORDS[n]
  const tens = n % 100
  const ending = tens > 10 && tens < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th')
  return count(n) + ending
}

/**
 * "query 27 t, key 21 t, weight .2389, second of 28"; where a place is known by its number alone its word is ""
 * @param {{i: number, j: number, query: string, key: string, weight: number, what?: string, rank?: number, of?: number}} cell a weight under 0 is not visible; what: the name of the number, where it is no weight
 */
export function cellSentence({ i, j, query, key, weight: w, what = 'weight', rank, of }) {
  const where = `query ${[count(i), query].filter(Boolean).join(' ')}, key ${[count(j), key].filter(Boolean).join(' ')}`
  if (Number.isNaN(w)) return where
  if (w < 0) return `${where}, not visible`
  const place = rank && of ? `, ${ordinal(rank)} of ${count(of)}` : ''
  return `${where}, ${what} ${weight(w)}${place}`
}

/** @param {{name: string, head: number, entropy: number|null, refused: boolean}} at */
export function headSentence({ name, head, entropy, refused }) {
  if (refused) return `${name} head ${head}, refused, not drawn`
  return `${name} head ${head}` + (entropy === null ? '' : `, mean entropy ${entropy.toFixed(2)} nats`)
}

/**
 * "t, position 27, looks most at t, position 15, weight .306"
 * @param {{way: "at"|"by", at: number, word: string, what?: string, best: {at: number, word: string, weight: number}|null}} token
 */
export function tokenSentence({ way, at, word, what = 'weight', best }) {
  const place = (/** @type {string} */ name, /** @type {number} */ where) => `${name ? `${name}, ` : ''}position ${count(where)}`
  const who = place(word, at)
  if (!best) return way === 'at' ? `${who}, sees no key` : `${who}, seen by no query`
  const whom = `${place(best.word, best.at)}, ${what} ${weight(best.weight)}`
  return way === 'at' ? `${who}, looks most at ${whom}` : `${who}, is looked at most by ${whom}`
}

/** "about 4 s left". @param {number|null} seconds */
export function timeLeft(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) return ''
  if (seconds < 1) return 'under 1 s left'
  return seconds < 90 ? `about ${Math.round(seconds)} s left` : `about ${Math.round(seconds / 60)} min left`
}
