// The texts on which a head is best to be seen, each with the page that opens it there.

import { EMPTY as EXPLORE, format as exploreLink } from '../urlstate.js'
import { EMPTY as MAP, format as mapLink } from '../map/url.js'
import { placeOf } from './address.js'

/** @typedef {import("./table.js").Survey} Survey @typedef {import("./table.js").Head} Head @typedef {import("./table.js").Score} Score */
/** @typedef {{model: string, text: string|null, map: boolean}} Opens @typedef {{model: string|null, texts: (Opens|null)[]}} Opening */
/** href is null where the app cannot open the text. @typedef {{name: string, value: number|null, href: string|null, page: "Explore"|"Map"}} Best */

const MOST = 3

/** The score that a head is looked at for: what makes its first class, else the one that the table is sorted by, else the one that goes up. @param {Head} head @param {Survey} survey @param {import("./table.js").State} state */
export function scoreOf(head, survey, state) {
  const rule = survey.classes.find(({ name }) => name === head.classes[0])
  const names = [rule?.score, state.sort, state.y, state.x, 'entropy']
  const found = names.map((name) => survey.scores.find((score) => score.name === name)).find((score) => score && (head.scores[score.name]?.value ?? null) !== null)
  return found ?? survey.scores[0]
}

/**
 * The texts of a score in the order of its value, the largest first. Where none of them can be opened, those of another score follow that
 * speaks of running text; a file that does not tell the texts' values has them in their own order.
 * @param {Head} head @param {Survey} survey @param {Opening} opening @param {Score} score @returns {{score: Score, texts: Best[]}[]}
 */
export function bestTexts(head, survey, opening, score) {
  const own = { score, texts: ranked(head, survey, opening, score) }
  if (own.texts.some(({ href }) => href) || !opening.model) return [own]
  const plain = ['induction_mass', 'entropy'].map((name) => survey.scores.find((one) => one.name === name))
  const other = plain.find((one) => one && one.name !== score.name && ranked(head, survey, opening, one).some(({ href }) => href))
  return other ? [own, { score: other, texts: ranked(head, survey, opening, other) }] : [own]
}

/** @param {Head} head @param {Survey} survey @param {Opening} opening @param {Score} score @returns {Best[]} */
function ranked(head, survey, opening, score) {
  const values = head.scores[score.name]?.texts ?? []
  const texts = survey.texts.flatMap((text, at) => (text.kind === score.text ? [{ text, at }] : []))
  const told = texts.map(({ text, at }, n) => ({ name: text.name, value: values[n] ?? null, opens: opening.texts[at] ?? null }))
  const order = values.length ? told.filter(({ value }) => value !== null).sort((one, other) => Number(other.value) - Number(one.value)) : told
  return order.slice(0, MOST).map(({ name, value, opens }) => ({ name, value, href: opens && linkTo(opens, head, survey), page: opens?.map ? 'Map' : 'Explore' }))
}

/** The address of a head on a text. @param {Opens} opens @param {Head} head @param {Survey} survey */
export function linkTo({ model, text, map }, head, survey) {
  const place = { model, text, ...placeOf(head, survey) }
  return map ? `map${mapLink({ ...MAP, ...place })}` : `explore${exploreLink({ ...EXPLORE, ...place })}`
}
