// What a choice is announced as, and where the model's prediction after it is known.

import { headSentence, tokenSentence } from './announce.js'
import { isItsPlace, spoken } from './marks.js'
import { sidesOf } from './places.js'
import { largest } from './scale.js'
import { isSite, longName } from './sites.js'

/** @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Way} Way @typedef {import("../types.js").Axis} Axis @typedef {import("./selection.js").Selection} Selection */

/** @param {Selection} selection @param {Result} result */
export function headSaying({ at, head }, result) {
  if (!isSite(at)) return `Layer ${at?.layer}, not shown`
  return headSentence({ name: longName(at, result), head, entropy: at.entropy[head] ?? null, refused: at.certificate[head]?.verdict === 'refused' })
}

/** @param {Selection} selection @param {Way} way @param {Result} result @param {Float32Array|null} values of the row or column that is shown @param {string} [what] what they are */
export function tokenSaying({ at, i, j }, way, result, values, what) {
  const { rows, columns } = isSite(at) ? sidesOf(at, result) : { rows: null, columns: null }
  const [own, others] = way === 'at' ? [rows, columns] : [columns, rows]
  const token = way === 'at' ? i : (j ?? i)
  const best = values ? largest(values, 1)[0] : undefined
  return tokenSentence({ way, at: token, word: word(own, token), what, best: best === undefined || !values ? null : { at: best, word: word(others, best), weight: values[best] } })
}

/**
 * Predictions are known after the positions of the stack that predicts: the decoder, where there are two.
 * @param {Selection} selection @param {Way} way @param {Result} result @param {boolean} recorded
 * @returns {{after: number, predicts: boolean, why: string}} why: what is said where there is none
 */
export function predictionAt({ at, i, j }, way, result, recorded) {
  const site = isSite(at) ? at : null
  const decoder = site === null || site.stack === 'decoder' || !result.sites.some((other) => other.stack === 'decoder')
  const same = site === null || site.rows === site.columns
  const why = recorded ? 'A recording keeps no predictions.' : decoder ? 'This model does not predict what comes next.' : 'The decoder predicts; the encoder only reads.'
  return { after: same && way === 'by' ? (j ?? i) : i, predicts: result.predicts && decoder, why }
}

/** @param {Axis|null} axis @param {number} at */
const word = (axis, at) => (axis?.tokens[at] && !isItsPlace(axis.tokens[at], at) ? spoken(axis.tokens[at]) : '')
