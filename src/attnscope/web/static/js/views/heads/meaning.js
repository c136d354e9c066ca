// What a score means: its definition, its formula and where it comes from; of all scores, and of all classes by their rules.

import { h } from '../../dom.js'
import { ruleWords } from '../../pure/heads/classes.js'
import { dialog } from '../dialogs.js'
import { glyph } from './glyph.js'

/** @typedef {import("../../pure/heads/table.js").Survey} Survey @typedef {import("../../pure/heads/table.js").Score} Score */

const ON = /** @type {Record<string, string>} */ ({ plain: 'running text', twice: 'n random tokens twice', four: 'a start token, n random tokens four times', needle: 'a sentence hidden in a text' })

/** @param {Score} score @param {string} [before] */
export const meaning = ({ title, definition, formula, source }, before = '') =>
  h('p', { class: 'small meaning' }, h('b', {}, before + title), ' ', definition, h('span', { class: 'formula' }, formula), h('span', { class: 'faint' }, source))

/** @param {Survey} survey */
export function showMeanings(survey) {
  const title = (/** @type {string} */ name) => survey.scores.find((score) => score.name === name)?.title ?? name
  const scores = survey.scores.map((score) => h('section', {}, h('h3', {}, score.title), h('p', {}, score.definition), h('p', { class: 'formula' }, score.formula), h('p', { class: 'small dim' }, `On ${ON[score.text] ?? score.text} · ${score.source}`)))
  const rules = survey.classes.map((rule) => h('p', {}, h('span', { class: 'of' }, glyph(rule.glyph), h('b', {}, rule.name)), `${rule.says}: ${ruleWords(rule, title)}.`))
  dialog('What the scores mean',
    h('p', { class: 'small dim' }, 'A[i, j] is the weight of query i on key j, t are the tokens, T is their number; counted from 0. Beside each score stand that of a head that gives every key it sees the same weight (uniform), that of the same head at the same cells with the tokens in another order (shuffled), and the 95% bootstrap interval of the mean over texts.'),
    h('div', { class: 'meanings', tabindex: '0', role: 'group', 'aria-label': 'Scores and classes' }, ...scores, h('section', {}, h('h3', {}, 'Classes'), ...rules, h('p', {}, 'A head may have several; no class is an answer. One text alone has no interval, and gives none.'))))
}
