// The walk of one query as steps: what goes in, what comes out, and the sentence that says so.

import { choose, fill, look, textOf } from './fill.js'
import { operandsOf, sizesOf } from './values.js'

/** @typedef {import("./types.js").Sheet} Sheet */
/** @typedef {import("./types.js").Recipe} Recipe */
/** @typedef {import("./types.js").Values} Values */
/** @typedef {import("./types.js").Step} Step */
/** @typedef {import("./types.js").StepRule} StepRule */
/** @typedef {import("./types.js").Ref} Ref */
/** @typedef {import("./values.js").Env} Env */
/** @typedef {import("./fill.js").On} On */

/**
 * The 6 n + 5 steps of the word at position `query`.
 * @param {Recipe} recipe @param {Sheet} sheet @param {Values} values @param {number} query @returns {Step[]}
 */
export function stepsOf(recipe, sheet, values, query) {
  const on = { recipe, sheet, values }
  /** @type {Env} */
  const env = { i: query, t: look(on, query).tops[0] }
  const found = recipe.steps.flatMap((rule) => {
    if (!rule.over) return [{ rule, env }]
    return Array.from({ length: values.n }, (_, j) => ({ rule, env: { ...env, j } }))
  })
  /** @type {Record<string, number>} */
  const index = {}
  return found.map(({ rule, env: here }, at) => {
    index[rule.stage] = (index[rule.stage] ?? 0) + 1
    const of = found.filter((one) => one.rule.stage === rule.stage).length
    return { number: at + 1, index: index[rule.stage], of, ...stepOf(on, rule, here) }
  })
}

/** @param {On} on @param {StepRule} rule @param {Env} env */
function stepOf(on, rule, env) {
  const results = refs(on.values, rule.results, env)
  /** @type {Map<string, Ref>} */
  const operands = new Map()
  for (const ref of results.flatMap((one) => operandsOf(on.recipe, on.sheet, one))) operands.set(`${ref.grid} ${ref.at}`, ref)
  const ask = textOf(fill(on, env, choose(on, env, rule.ask)))
  return {
    stage: rule.stage,
    part: rule.part,
    name: textOf(fill(on, env, rule.name)),
    operands: [...operands.values()],
    results,
    sentence: rule.sentence.flatMap((group) => fill(on, env, choose(on, env, group))),
    guess: ask ? refs(on.values, rule.guess, env)[0] : null,
    ask,
  }
}

/** A grid's places: an index that is not bound runs over all of its own. @param {Values} values @param {string[]} slots @param {Env} env @returns {Ref[]} */
function refs(values, [grid, ...slots], env) {
  const sizes = sizesOf(values)
  /** @type {number[][]} */
  let places = [[]]
  for (const slot of slots) {
    const all = Array.from({ length: sizes[slot] ?? 0 }, (_, at) => at)
    const range = /^\d$/.test(slot) ? [Number(slot)] : slot in env ? [env[slot]] : all
    places = places.flatMap((at) => range.map((one) => [...at, one]))
  }
  return places.map((at) => ({ grid, at }))
}
