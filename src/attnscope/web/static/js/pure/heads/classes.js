// The rules of classes in words, and what is known of the heads of a model, looked up by a head of a run.

import { weight, two } from '../number.js'

/** @typedef {{name: string, glyph: string, says: string, score: string, least?: number, by_tokens?: boolean, of_uniform?: boolean}} Rule */
/** @typedef {{name: string, order: number, head: number, kind: string, stack: string, classes: string[], scores: Record<string, {value: number|null, uniform: number|null}>}} KnownHead */
/** of: the survey that tells it. @typedef {{of: string, classes: Rule[], heads: KnownHead[]}} Known */
/** What a head is called: its classes, and the number of the first. @typedef {{glyph: string, number: string, words: string, names: string[]}} Called */

/** What a rule asks for. @param {Rule} rule @param {(score: string) => string} title */
export function ruleWords({ score, least = 0, by_tokens: byTokens, of_uniform: ofUniform }, title) {
  if (ofUniform) return `the low end of ${title(score)} is at least ${least} of the uniform head’s`
  return `the low end of ${title(score)} is at least ${least}, and above ${byTokens ? 'the uniform head and the shuffled tokens' : 'the uniform head'}`
}

/**
 * The heads of a run as a survey calls them: by module, and by which of the module's calls it is.
 * @param {Known} known @param {import("../../types.js").Result} result
 */
export function calledOf(known, result) {
  const rules = new Map(known.classes.map((rule) => [rule.name, rule]))
  const heads = new Map(known.heads.map((head) => [`${head.name} ${head.order} ${head.kind} ${head.stack} ${head.head}`, head]))
  const called = new Map(/** @type {[string, Called][]} */ ([]))
  const calls = new Map(/** @type {[string, number][]} */ ([]))
  for (const site of result.sites) {
    const order = calls.get(site.name) ?? 0
    calls.set(site.name, order + 1)
    for (let head = 0; head < site.heads; head++) {
      const found = heads.get(`${site.name} ${order} ${site.kind} ${site.stack} ${head}`)
      if (found) called.set(`${site.site}.${head}`, callOne(found, rules))
    }
  }
  return called
}

/** @param {KnownHead} head @param {Map<string, Rule>} rules @returns {Called} */
function callOne({ classes, scores }, rules) {
  const own = classes.flatMap((name) => rules.get(name) ?? [])
  if (!own.length) return { glyph: 'none', number: '', words: 'no class', names: [] }
  const said = own.map(({ name, score }) => `${name} ${written(score, scores[score]?.value ?? null)}, uniform ${written(score, scores[score]?.uniform ?? null)}`)
  return { glyph: own[0].glyph, number: two(scores[own[0].score]?.value ?? 0), words: said.join('; '), names: classes }
}

/** @param {string} score @param {number|null} value */
function written(score, value) {
  if (value === null) return '–'
  return score === 'entropy' ? two(value) : weight(value)
}

/** How many heads of a run are of each class, in the order of the rules; "none" last. @param {Known} known @param {Map<string, Called>} called @returns {{rule: Rule, count: number}[]} */
export function legendOf(known, called) {
  const every = [...called.values()]
  const rules = [...known.classes, { name: 'none', glyph: 'none', says: 'no rule holds', score: '' }]
  return rules
    .map((rule) => ({ rule, count: every.filter(({ names }) => (rule.name === 'none' ? !names.length : names.includes(rule.name))).length }))
    .filter(({ count }) => count > 0)
}
