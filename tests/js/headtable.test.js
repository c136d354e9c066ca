import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EMPTY, NONE, bestText, columnsOf, counts, filtered, reach, shown, sorted } from '../../src/attnscope/web/static/js/pure/heads/table.js'

const score = (value, texts = []) => ({ value, uniform: 0.1, shuffled: null, spread: null, low: null, high: null, texts, reason: value === null ? 'why' : '' })
const head = (site, number, sink, classes = []) => ({ site, name: 'a', order: 0, layer: site, head: number, kind: 'self', stack: 'decoder', classes, scores: { sink: score(sink), entropy: score(sink === null ? null : 4 * sink), previous_token: score(0.2), induction_stripe: score(0.3), duplicate_token: score(0.1) } })
const heads = [head(0, 0, 0.4, ['local']), head(0, 1, null), head(1, 0, 0.9, ['local', 'first token']), head(1, 1, 0.4)]
const scores = ['sink', 'entropy', 'previous_token', 'induction_stripe', 'duplicate_token', 'distance'].map((name) => ({ name, title: name, definition: '', formula: '', source: '', text: 'plain', unit: name === 'entropy' ? 'nats' : 'weight' }))
const survey = { model: {}, texts: [], notes: [], scores, classes: [{ name: 'local', glyph: 'near', says: '' }, { name: 'first token', glyph: 'first', says: '' }], heads }
const names = (list) => list.map((one) => `${one.site}.${one.head}`)

test('rows are sorted either way, equal ones keep their order, and what has no value stands last', () => {
  assert.deepEqual(names(sorted(heads, 'sink', false)), ['1.0', '0.0', '1.1', '0.1'])
  assert.deepEqual(names(sorted(heads, 'sink', true)), ['0.0', '1.1', '1.0', '0.1'])
  assert.deepEqual(names(sorted(heads, 'layer', false)), ['1.1', '1.0', '0.1', '0.0'])
})

test('a head of two classes is found under both, and no class is one of them', () => {
  assert.deepEqual(names(filtered(heads, 'local')), ['0.0', '1.0'])
  assert.deepEqual(names(filtered(heads, 'first token')), ['1.0'])
  assert.deepEqual(names(filtered(heads, NONE)), ['0.1', '1.1'])
  assert.deepEqual([...counts(heads, survey.classes)], [['local', 2], ['first token', 1], [NONE, 2]])
})

test('the columns are the main ones and those that are spoken of', () => {
  assert.deepEqual(columnsOf(EMPTY, scores).map((one) => one.name), ['sink', 'entropy', 'previous_token', 'induction_stripe', 'duplicate_token'])
  assert.ok(columnsOf({ ...EMPTY, sort: 'distance' }, scores).some((one) => one.name === 'distance'))
})

test('a weight reaches from 0 to 1, and nats to the largest of all heads', () => {
  assert.equal(reach(heads, scores[0]), 1)
  assert.equal(reach(heads, scores[1]), 3.6)
})

test('numbers are written as everywhere, and what is undefined is a dash', () => {
  assert.equal(shown(0.8079, 'weight'), '.808')
  assert.equal(shown(3.1415, 'nats'), '3.14')
  assert.equal(shown(null, 'weight'), '–')
})

test('the text on which a score is largest is found past those without one', () => {
  assert.equal(bestText(score(0.5, [0.1, null, 0.7, 0.7])), 2)
  assert.equal(bestText(score(null, [])), null)
})
