// What the parts of the walk draw: the numbers of one sheet, the steps of one query, and how far the reader has come.

import { isEdited } from '../../pure/walk/sheet.js'
import { stepsOf } from '../../pure/walk/steps.js'
import { evaluate } from '../../pure/walk/values.js'

/** @typedef {import("../../pure/walk/types.js").Sheet} Sheet @typedef {import("../../pure/walk/types.js").Recipe} Recipe */
/** @typedef {import("../../pure/walk/types.js").Values} Values @typedef {import("../../pure/walk/types.js").Step} Step */
/** @typedef {import("../../pure/walk/types.js").Ref} Ref @typedef {import("../../pure/walk/types.js").Stage} Stage */
/**
 * step is the one at work; now and operands hold the keys of the numbers it makes and of those it makes them from; due is the
 * number of the step that makes a number; ends is the last step of each stage, in order; edited says whether a number is the reader's own.
 * @typedef {{recipe: Recipe, fresh: Sheet, sheet: Sheet, values: Values, query: number, steps: Step[], step: Step, at: number,
 *   words: string[], now: Set<string>, operands: Set<string>, due: Map<string, number>, ends: number[], stage: number,
 *   predicting: boolean, edited: (key: string) => boolean}} Model
 */

/** A number's name in one word, as it stands in data-ref. @param {string} grid @param {number[]} at */
export const keyOf = (grid, at) => `${grid}:${at.join(',')}`

/** @param {Ref} ref */
export const refKey = (ref) => keyOf(ref.grid, ref.at)

/** @param {string} key @returns {Ref} */
export function refOf(key) {
  const [grid, at] = key.split(':')
  return { grid, at: at.split(',').map(Number) }
}

/**
 * @param {{recipe: Recipe, fresh: Sheet, sheet: Sheet, query: number, at: number, predicting: boolean}} asked query and step are held to what there is
 * @returns {Model}
 */
export function modelOf({ recipe, fresh, sheet, query: wanted, at: wish, predicting }) {
  const values = evaluate(recipe, sheet)
  const query = Math.max(0, Math.min(values.n - 1, wanted))
  const steps = stepsOf(recipe, sheet, values, query)
  const at = Math.max(1, Math.min(steps.length, wish))
  const step = steps[at - 1]
  const due = new Map()
  for (const one of steps) for (const ref of one.results) if (!due.has(refKey(ref))) due.set(refKey(ref), one.number)
  const ends = recipe.stages.map(({ name }) => steps.filter((one) => one.stage === name).length).map((_, at, sizes) => sizes.slice(0, at + 1).reduce((sum, size) => sum + size, 0))
  return {
    recipe, fresh, sheet, values, query, steps, step, at, due, ends, predicting,
    words: sheet.words,
    now: new Set(step.results.map(refKey)),
    operands: new Set(step.operands.map(refKey)),
    edited: (key) => isEdited(sheet, refOf(key), fresh),
    stage: recipe.stages.findIndex(({ name }) => name === step.stage),
  }
}

/** Whether a number has been made by now: of another query's row, once its stage is over; what one types is always there. @param {Model} model @param {string} key @param {number} stage */
export const made = (model, key, stage) => stage === 0 || model.at >= (model.due.get(key) ?? model.ends[stage])

/** The same place in a walk of another length: the same step of the same stage, or that stage's last. @param {Step} step @param {Step[]} steps */
export function samePlace(step, steps) {
  const stage = steps.filter((one) => one.stage === step.stage)
  const whole = step.index === step.of
  return (whole ? stage[stage.length - 1] : stage[Math.min(step.index, stage.length) - 1]).number
}
