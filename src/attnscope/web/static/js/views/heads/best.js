// The texts on which the chosen head is best to be seen, with links that open it there.

import { h } from '../../dom.js'
import { bestTexts, scoreOf } from '../../pure/heads/texts.js'
import { shown } from '../../pure/heads/table.js'

/** @typedef {import("../../pure/heads/table.js").Survey} Survey @typedef {import("../../pure/heads/table.js").Head} Head @typedef {import("../../pure/heads/texts.js").Opening} Opening */

/** @param {Head} head @param {Survey & {opens: Opening}} survey @param {import("../../pure/heads/table.js").State} state */
export function bestOf(head, survey, state) {
  const found = bestTexts(head, survey, survey.opens, scoreOf(head, survey, state))
  const lists = found.map(({ score, texts }) =>
    h('div', { class: 'best-texts' }, h('h3', { class: 'small dim' }, `Its texts by ${score.title}, the largest first`),
      h('ul', {}, ...texts.map(({ name, value, href, page }) =>
        h('li', {}, h('span', { class: 'num' }, shown(value, score.unit)), h('span', {}, name), href && h('a', { href }, `Open in ${page}`)))),
      texts.length > 0 && !texts.some(({ href }) => href) && survey.opens.model && h('p', { class: 'small faint' }, score.text === 'plain' ? 'The survey does not hold these texts.' : 'No text is read as these very tokens.')))
  const why = survey.opens.model ? false : h('p', { class: 'small faint' }, `Its texts open here once the model is on offer: attnscope app --model ${survey.model.id ?? 'MODEL'} FILE`)
  return h('div', { class: 'best-of' }, ...lists, why)
}

/** Where a head is opened first. @param {Head} head @param {Survey & {opens: Opening}} survey @param {import("../../pure/heads/table.js").State} state */
export function firstLink(head, survey, state) {
  return bestTexts(head, survey, survey.opens, scoreOf(head, survey, state)).flatMap(({ texts }) => texts).find(({ href }) => href)?.href ?? null
}
