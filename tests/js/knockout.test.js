// What a knock-out tells, in rows and words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movedWords, positionOf, rowsOf } from '../../src/attnscope/web/static/js/pure/knockout.js'

const token = (id) => ({ id, token: {}, before: 0.5, after: 0.4 })
const told = (next, share) => ({ next: { position: 2, ...next }, share })

test('each token stands once, those of before first, at most six', () => {
  const rows = rowsOf({ before: [1, 2, 3].map(token), after: [2, 4, 5, 6, 7].map(token) })
  assert.deepEqual(rows.map(({ id }) => id), [1, 2, 3, 4, 5, 6])
  const wide = rowsOf({ before: [1, 2, 3, 4, 5, 6].map(token), after: [9, 1].map(token) })
  assert.deepEqual(wide.map(({ id }) => id), [1, 2, 3, 4, 5, 9])
  assert.deepEqual(rowsOf({}), [])
})

test('what did not move is said so, and what moved with its size and sign', () => {
  assert.equal(movedWords(told({ kl: 0, variation: 0 })), 'What is expected next did not move at all.')
  assert.equal(movedWords(told({ kl: 0.0123, variation: 0.034, realised: -0.12 })), 'What is expected next moved by .0123 nats (KL), total variation .0340; the log-probability of what really follows by −.1200.')
  assert.match(movedWords(told({ kl: 1e-9, variation: 2e-5, realised: 0.5 })), /moved by 1e−9 nats \(KL\), total variation 2e−5; .* by \+\.5000\./)
})

test('states are told by their share', () => {
  assert.equal(movedWords(told({}, [0, 0, 0.25])), 'The last hidden state of this position moved by .2500 of its length.')
  assert.equal(movedWords(told({}, [0, 0, null])), '')
})

test('a query of an encoder is no position of its decoder', () => {
  assert.equal(positionOf({ stack: 'encoder' }, { model: { kind: 'encoder-decoder' } }, 3), null)
  assert.equal(positionOf({ stack: 'decoder' }, { model: { kind: 'encoder-decoder' } }, 3), 3)
  assert.equal(positionOf({ stack: 'encoder' }, { model: { kind: 'bidirectional' } }, 3), 3)
})
