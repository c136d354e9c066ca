import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EMPTY, format, parse, placeOf, viewOf } from '../../src/attnscope/web/static/js/pure/heads/address.js'
import { calledOf, legendOf, ruleWords } from '../../src/attnscope/web/static/js/pure/heads/classes.js'
import { bestTexts, linkTo, scoreOf } from '../../src/attnscope/web/static/js/pure/heads/texts.js'

const score = (value, texts = []) => ({ value, uniform: 0.1, shuffled: null, spread: null, low: null, high: null, texts, reason: value === null ? 'why' : '' })
const head = (site, layer, number, scores, classes = []) => ({ site, name: `layers.${layer}`, order: 0, layer, head: number, kind: 'self', stack: 'decoder', classes, scores })
const titled = (name, text = 'plain') => ({ name, title: name, definition: '', formula: '', source: '', text, unit: 'weight' })
const survey = {
  model: {},
  texts: [{ kind: 'plain', name: 'one', tokens: 4 }, { kind: 'twice', name: 'two', tokens: 8 }, { kind: 'plain', name: 'three', tokens: 600 }],
  notes: [],
  scores: [titled('sink'), titled('induction_stripe', 'twice'), titled('entropy'), titled('previous_token')],
  classes: [{ name: 'induction', glyph: 'next', says: '', score: 'induction_stripe', least: 0.3, by_tokens: true }, { name: 'first token', glyph: 'first', says: '', score: 'sink', least: 0.3 }],
  heads: [
    head(0, 0, 0, { sink: score(0.4, [0.2, 0.6]), induction_stripe: score(0.9, [0.9]), entropy: score(2, [1, 3]), previous_token: score(null) }, ['induction', 'first token']),
    head(0, 0, 1, { sink: score(null), induction_stripe: score(null), entropy: score(2, [3, 1]), previous_token: score(null) }),
    head(1, 1, 0, { sink: score(0.1), induction_stripe: score(null), entropy: score(null), previous_token: score(null) }),
    head(2, 1, 0, { sink: score(0.2), induction_stripe: score(null), entropy: score(null), previous_token: score(null) }),
  ],
}
const here = { model: 'm', text: 'a b', map: false }

test('every state comes back from its own link', () => {
  assert.deepEqual(parse(''), { ...EMPTY })
  const states = [{ ...EMPTY, model: 'm', layer: 1, site: 2, head: 0, sort: 'sink', up: true, only: 'first token', x: 'sink', y: 'entropy', theme: 'dark' }, { ...EMPTY, survey: 'heads é.json' }]
  for (const state of states) assert.deepEqual(parse(format(state)), state)
  assert.equal(parse('?sort=%3Cb%3E&x=%00').sort, '')
})

test('what a survey does not know is as by default, and the axes are scores that it has', () => {
  const view = viewOf({ ...EMPTY, sort: 'charm', only: 'x', x: 'y', layer: 9, head: 9 }, survey)
  assert.deepEqual(view, { sort: 'layer', up: true, only: '', x: 'induction_stripe', y: 'sink', chosen: '' })
})

test('a head is named by its layer, and by its site where the layer has several', () => {
  for (const one of survey.heads) assert.equal(viewOf({ ...EMPTY, ...placeOf(one, survey) }, survey).chosen, `${one.site}.${one.head}`)
  assert.deepEqual(placeOf(survey.heads[0], survey), { layer: 0, site: null, head: 0 })
  assert.deepEqual(placeOf(survey.heads[3], survey), { layer: 1, site: 2, head: 0 })
  assert.deepEqual(placeOf(undefined, survey), { layer: null, site: null, head: null })
})

test('a head is shown on the texts of what makes its class, else of what the table is sorted by', () => {
  const state = viewOf({ ...EMPTY, sort: 'entropy' }, survey)
  assert.equal(scoreOf(survey.heads[0], survey, state).name, 'induction_stripe')
  assert.equal(scoreOf(survey.heads[1], survey, state).name, 'entropy')
  assert.equal(scoreOf(survey.heads[2], survey, state).name, 'sink')
})

test('texts stand by their value, a long one opens in Map, and running texts stand in for random tokens', () => {
  const opens = { model: 'm', texts: [here, null, { ...here, map: true }] }
  const [own] = bestTexts(survey.heads[0], survey, opens, survey.scores[0])
  assert.deepEqual(own.texts.map(({ name, value, page }) => [name, value, page]), [['three', 0.6, 'Map'], ['one', 0.2, 'Explore']])
  const [stripe, entropy] = bestTexts(survey.heads[0], survey, opens, survey.scores[1])
  assert.deepEqual(stripe.texts, [{ name: 'two', value: 0.9, href: null, page: 'Explore' }])
  assert.equal(entropy.score.name, 'entropy')
  assert.equal(bestTexts(survey.heads[0], survey, { model: null, texts: [null, null, null] }, survey.scores[1]).length, 1)
})

test('a link opens the head on the text, in Explore or in Map', () => {
  assert.equal(linkTo(here, survey.heads[3], survey), 'explore?model=m&text=a+b&site=2&layer=1&head=0')
  assert.match(linkTo({ ...here, map: true }, survey.heads[0], survey), /^map\?model=m&text=a\+b&layer=0&head=0/)
})

test('the heads of a run are called by module and call, with the first class and all in words', () => {
  const known = { of: 's', classes: survey.classes, heads: survey.heads }
  const site = (number, name, heads) => ({ site: number, name, heads, kind: 'self', stack: 'decoder', layer: number })
  const called = calledOf(known, { sites: [site(0, 'layers.0', 3), site(1, 'other', 1)] })
  assert.deepEqual([...called.keys()], ['0.0', '0.1'])
  assert.deepEqual(called.get('0.0'), { glyph: 'next', number: '.90', words: 'induction .900, uniform .100; first token .400, uniform .100', names: ['induction', 'first token'] })
  assert.equal(called.get('0.1').words, 'no class')
  assert.deepEqual(legendOf(known, called).map(({ rule, count }) => [rule.name, count]), [['induction', 1], ['first token', 1], ['none', 1]])
})

test('a rule says what it asks for', () => {
  const title = (name) => name.toUpperCase()
  assert.equal(ruleWords(survey.classes[0], title), 'the low end of INDUCTION_STRIPE is at least 0.3, and above the uniform head and the shuffled tokens')
  assert.equal(ruleWords({ score: 'entropy', least: 0.8, of_uniform: true }, title), 'the low end of ENTROPY is at least 0.8 of the uniform head’s')
})
