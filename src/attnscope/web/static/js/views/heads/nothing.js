// In place of the table: what can be measured, how far it is, or why there is none.

import { put } from '../../dom.js'
import { CALM } from '../../api.js'
import { card, progressText } from '../card.js'

/** @typedef {import("../../types.js").SurveyEntry} SurveyEntry */
/** @typedef {{entry: SurveyEntry|null, problem: import("../../api.js").ApiError|null, progress: import("../../types.js").Progress|null, busy: boolean}} Data */

const SAYS = {
  model: 'Its heads are measured on passages of plain text and on random tokens, a few texts of each. A small model takes seconds, a large one minutes.',
  recording: 'Its heads are measured over the texts that it holds, without running its model. What needs random tokens is left out.',
  file: '',
}

/** @param {HTMLElement} el @param {{measure: () => void, cancel: () => void, again: () => void}} on */
export function mountNothing(el, on) {
  let shown = ''
  return {
    /** @param {Data} data */
    update({ entry, problem, progress, busy }) {
      const key = JSON.stringify([entry?.id, problem?.title, problem?.message, progress?.step, progress?.done, progress?.seconds_left, busy])
      if (key === shown) return
      shown = key
      put(el, cardOf({ entry, problem, progress, busy }, on))
    },
  }
}

/** @param {Data} data @param {{measure: () => void, cancel: () => void, again: () => void}} on */
function cardOf({ entry, problem, progress, busy }, on) {
  if (busy) return card({ title: `Measuring ${entry?.label ?? ''}`, text: progress ? progressText(progress) : 'Starting', bar: progress ?? { done: 0, total: 1 }, button: { label: 'Cancel', act: on.cancel } })
  const measure = entry && { label: 'Measure its heads', act: on.measure }
  if (problem) return card({ title: problem.title, text: problem.message, hint: problem.hint, bad: problem.status !== CALM, button: measure ?? (problem.status === 0 ? { label: 'Try again', act: on.again } : null) })
  return card({ title: `${entry?.label ?? 'This model'} is not measured yet`, text: SAYS[entry?.kind ?? 'model'], hint: 'A survey on texts of your own: attnscope heads MODEL --texts FILE -o heads.json, then attnscope app heads.json', button: measure })
}
