import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LEAST, stretchAt, stretchesOf } from '../../src/attnscope/web/static/js/pure/stretches.js'

/** @param {number} count @param {number} [line] tokens of a line, 0 for one line */
const text = (count, line = 0) => Array.from({ length: count }, (_, i) => ({ i, id: i, text: line && i % line === line - 1 ? '\n' : 'a', kind: /** @type {const} */ ('text'), bytes: null, continues: false, spoken: 'a' }))

test('a text that is not long is one stretch, and none has no stretches', () => {
  assert.deepEqual(stretchesOf(text(2 * LEAST, 7)), [{ first: 0, end: 2 * LEAST }])
  assert.deepEqual(stretchesOf([]), [])
})

test('stretches follow one another, hold every token once, and end where a line ends', () => {
  const tokens = text(8_191, 13)
  const stretches = stretchesOf(tokens)
  assert.equal(stretches[0].first, 0)
  assert.equal(stretches.at(-1)?.end, tokens.length)
  stretches.slice(1).forEach(({ first }, k) => {
    assert.equal(first, stretches[k].end)
    assert.equal(tokens[first - 1].text, '\n')
  })
  assert.ok(stretches.every(({ first, end }) => end - first <= 2 * LEAST))
})

test('a text without lines is cut all the same', () => {
  assert.deepEqual(stretchesOf(text(1_500)).map(({ end }) => end), [512, 1_024, 1_500])
})

test('every token is found in its stretch', () => {
  const stretches = stretchesOf(text(3_001, 17))
  for (let at = 0; at < 3_001; at += 7) {
    const { first, end } = stretches[stretchAt(stretches, at)]
    assert.ok(first <= at && at < end)
  }
})
