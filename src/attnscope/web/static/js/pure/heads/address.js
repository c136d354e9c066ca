// The state of the page Heads in its address: whose heads, which is chosen, the axes, the order, the class.

import { NONE, byDefault, nameOf } from './table.js'
import { anyText, flag, someText, spelling } from '../spelling.js'

/** @typedef {import("../../types.js").Shared} Shared @typedef {import("./table.js").Survey} Survey @typedef {import("./table.js").Head} Head */
/**
 * All that a link to Heads holds. survey: a file, where it is not what is known of the model. sort, x, y: scores, "" where nothing was
 * chosen; only: a class, "none" for no class, "" for all.
 * @typedef {Shared & {survey: string|null, sort: string, up: boolean, only: string, x: string, y: string}} HeadsState
 */

/** @type {import("../spelling.js").Field<string>} */
const word = { ...anyText, none: '', read: (given) => (/^[\w -]{1,40}$/.test(given) ? given : '') }

export const { empty: EMPTY, parse, format } = spelling(/** @type {import("../spelling.js").Fields<HeadsState>} */ ({
  survey: someText,
  sort: word,
  up: flag(false),
  only: word,
  x: word,
  y: word,
}))

/** What a state means for a survey: what is not in it, or was not chosen, is as by default. @param {HeadsState} state @param {Survey} survey @returns {import("./table.js").State} */
export function viewOf(state, survey) {
  const usual = byDefault(survey)
  const known = survey.scores.map(({ name }) => name)
  const classes = [...survey.classes.map(({ name }) => name), NONE]
  const sort = ['layer', ...known].includes(state.sort)
  return {
    sort: sort ? state.sort : usual.sort,
    up: sort ? state.up : usual.up,
    only: classes.includes(state.only) ? state.only : '',
    x: known.includes(state.x) ? state.x : usual.x,
    y: known.includes(state.y) ? state.y : usual.y,
    chosen: chosenOf(state, survey),
  }
}

/** The head that an address names, as in the other pages: by layer, and by its site where the layer has several. @param {HeadsState} state @param {Survey} survey */
function chosenOf({ layer, site, head }, survey) {
  if (layer === null || head === null) return ''
  const there = survey.heads.filter((one) => one.layer === layer && one.head === head)
  const found = there.find((one) => one.site === site) ?? there.find((one) => one.stack === 'decoder' && one.kind === 'self') ?? there[0]
  return found ? nameOf(found) : ''
}

/** What a chosen head is in the address. @param {Head|undefined} head @param {Survey} survey */
export function placeOf(head, survey) {
  if (!head) return { layer: null, site: null, head: null }
  const alone = new Set(survey.heads.filter(({ layer }) => layer === head.layer).map(({ site }) => site)).size === 1
  return { layer: head.layer, site: alone ? null : head.site, head: head.head }
}
