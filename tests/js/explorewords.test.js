import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EMPTY, format, parse } from '../../src/attnscope/web/static/js/pure/urlstate.js'
import { inTokens, inWords, isWords, tokenOf, wordAt } from '../../src/attnscope/web/static/js/pure/words.js'

const word = (text, places) => ({ i: 0, id: -1, text, kind: 'text', bytes: null, continues: false, spoken: text, places })
const words = [word('the', [0]), word(' lighter', [1, 2, 3]), word('.', [4])]
const tokens = words.map(({ text }, i) => ({ i, id: i, text, kind: 'text', bytes: null, continues: false, spoken: text }))
const result = (side) => ({ sites: [{ site: 0, layer: 0, heads: 1, rows: 'a', columns: 'a', stack: 'decoder', kind: 'self' }], missing: [], places: { a: { tokens: side } } })

test('a token leads to the word that holds it, and where there are no words to itself', () => {
  assert.deepEqual([0, 1, 3, 4, null].map((at) => wordAt(words, at)), [0, 1, 1, 2, null])
  assert.deepEqual([0, 2].map((at) => wordAt(tokens, at)), [0, 2])
  assert.ok(isWords(words) && !isWords(tokens))
})

test('a word stands in the address as its last token where it asks, as its first where it is asked', () => {
  assert.equal(tokenOf(words, 1, 'query'), 3)
  assert.equal(tokenOf(words, 1, 'key'), 1)
  assert.equal(tokenOf(tokens, 1, 'query'), 1)
})

test('a choice of words comes back as the same words', () => {
  const state = { ...EMPTY, layer: 0, words: 'mark' }
  const patch = inTokens(state, { i: 1, j: 2 }, result(words))
  assert.deepEqual(patch, { i: 3, j: 4 })
  const again = inWords({ ...state, ...patch }, result(words))
  assert.deepEqual([again.i, again.j], [1, 2])
  assert.deepEqual(inTokens(state, { i: null, scale: 'log' }, result(words)), { i: null, scale: 'log' })
})

test('an address keeps whether words are shown', () => {
  for (const how of ['', 'mark', 'fold']) assert.equal(parse(format({ ...EMPTY, words: how })).words, how)
  assert.equal(parse('?words=all').words, '')
})
