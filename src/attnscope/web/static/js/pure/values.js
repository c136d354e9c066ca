// Weight times the length of the key's value after W_O: the second picture of a head, made of the weights and one number a key.

/** @typedef {import("../types.js").Site} Site */
/** @typedef {{lengths: Float32Array, first: number, width: number, out: Float32Array}} Made */

/** @type {WeakMap<Float32Array, Made>} */
const made = new WeakMap()

/**
 * Weights times lengths in float32, −1 where not visible. The same weights give the same array, so that views see that nothing changed.
 * @param {Float32Array} weights rows of `width` columns @param {Float32Array} lengths of every key @param {number} first the key of column 0
 */
export function times(weights, lengths, first, width = weights.length) {
  const known = made.get(weights)
  if (known && known.lengths === lengths && known.first === first && known.width === width) return known.out
  const out = Float32Array.from(weights, (weight, at) => (weight >= 0 ? weight * lengths[first + (at % width)] : weight))
  made.set(weights, { lengths, first, width, out })
  return out
}

/** What the numbers of the second picture are. @param {Site} site */
export const nameOf = ({ lengths }) => (lengths.through === null ? 'weight × |v|' : 'weight × |v W_O|')

/** The same as it is said. @param {Site} site */
export const spokenOf = ({ lengths }) => (lengths.through === null ? 'weight times length of value' : 'weight times length of value after W_O')

/** What is drawn in place of weights. name, spoken: what its numbers are; lengths: of every key; most: the largest that a number can be, a weight of 1 on the longest value @typedef {{name: string, spoken: string, lengths: Float32Array, most: number}} Second */

/** @param {Site} site @param {Float32Array} lengths @returns {Second} */
export function secondOf(site, lengths) {
  const longest = lengths.reduce((most, length) => (length > most && length < Infinity ? length : most), 0)
  return { name: nameOf(site), spoken: spokenOf(site), lengths, most: longest || 1 }
}

/** @type {WeakMap<import("../types.js").Sides, import("../types.js").Sides>} the same sides give the same */
const alongs = new WeakMap()

/**
 * What stands along the sides in the second picture: what each key receives is times its length.
 * @param {import("../types.js").Sides} sides @param {Second} second @param {Float32Array|undefined} largest number of each row @returns {import("../types.js").Sides}
 */
export function stretched(sides, { lengths }, largest) {
  const known = alongs.get(sides) ?? { ...sides, received: times(sides.received, lengths, 0), received_mean: times(sides.received_mean, lengths, 0) }
  alongs.set(sides, known)
  return { ...known, largest: /** @type {Float32Array} */ (largest) }
}

/** What the second picture is of, in a sentence. @param {Site} site */
export function aboutOf({ lengths }) {
  if (lengths.why) return `No second picture: ${lengths.why}.`
  return lengths.through === null ? 'This model gives its heads away as they are: |v| is the length of the value itself.' : `W_O is ${lengths.through}, this head’s part of it.`
}
