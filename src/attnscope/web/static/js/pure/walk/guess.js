// How close a reader's guess at the number of a step came.

import { typed, written } from './format.js'

/** @typedef {import("./types.js").Recipe} Recipe */
/** @typedef {import("./types.js").Step} Step */
/** @typedef {import("./types.js").Values} Values */

const CLOSE = 0.05 // of the number itself

/** @param {Recipe} recipe @param {Step} step @param {Values} values @param {number} guessed @returns {string} "" where the step asks for none */
export function guessSentence(recipe, step, values, guessed) {
  if (!step.guess) return ''
  const { grid, at } = step.guess
  const value = values.at(grid, ...at)
  const gap = Math.abs(guessed - value)
  const [guess, is] = [guessed, value].map((x) => written(recipe, grid, x))
  const way = guessed < value ? 'low' : 'high'
  const name = guess === is ? 'right' : gap <= CLOSE * Math.abs(value) ? `close ${way}` : way
  /** @type {Record<string, string>} */
  const slots = { guess, value: is, gap: typed(gap, is.includes('.') && Math.abs(value) < 1 ? 3 : 2) }
  return recipe.guess[name].replace(/\{(\w+)\}/g, (_, slot) => slots[slot])
}
