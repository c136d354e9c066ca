// Files that are no example of the walk: each is refused with one sentence.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { readSheet } from '../../src/attnscope/web/static/js/pure/walk/file.js'

const sheet = { format: 'attnscope-walk', version: 1, words: ['a', 'b'], x: [[1, 0], [0, 1]], wq: [[1], [1]], wk: [[1], [1]], wv: [[1], [1]] }
const read = (/** @type {object} */ change) => readSheet(JSON.stringify({ ...sheet, ...change }))

test('a whole example is read', () => assert.ok('sheet' in read({})))

test('text that is no JSON is named so', () => assert.deepEqual(readSheet('{'), { problem: 'This file is not JSON. Open one that was saved here.' }))

test('another version is written as it stands in the file', () => {
  assert.deepEqual(read({ version: 2 }), { problem: 'This file has version 2; version 1 is wanted.' })
  assert.deepEqual(read({ version: { of: 1 } }), { problem: 'This file has version {"of": 1}; version 1 is wanted.' })
  assert.deepEqual(readSheet('{"format": "attnscope-walk"}'), { problem: 'This file has version undefined; version 1 is wanted.' })
})

test('a nest of lists where a number belongs is refused in words, however deep it is', () => {
  for (const depth of [1, 200, 200000]) {
    const text = JSON.stringify({ ...sheet, edited: { q: [[0, 0, 'HERE']], k: [], v: [] } }).replace('"HERE"', '['.repeat(depth) + ']'.repeat(depth))
    assert.match(/** @type {{problem: string}} */ (readSheet(text)).problem, /nested too deeply|An edited cell of q/)
  }
})
