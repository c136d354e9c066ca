import assert from 'node:assert/strict'
import test from 'node:test'

import { makeScale, ticks } from '../../src/attnscope/web/static/js/pure/scale.js'
import { sections } from '../../src/attnscope/web/static/js/pure/receipt.js'
import { aboutOf, nameOf, secondOf, stretched, times } from '../../src/attnscope/web/static/js/pure/values.js'

const lengths = Float32Array.of(2, 0.5, 3)

test('each weight is multiplied by the length of its own key, and what is not visible stays so', () => {
  const block = Float32Array.of(0.25, -1, 0.75, 0.1)
  assert.deepEqual([...times(block, lengths, 1, 2)], [0.125, -1, 0.375, Math.fround(Math.fround(0.1) * 3)])
  assert.deepEqual([...times(Float32Array.of(1, 1, 1), lengths, 0)], [2, 0.5, 3])
  assert.deepEqual([...times(Float32Array.of(0.5, -1), lengths, 2, 1)], [1.5, -1])
})

test('the same weights give the same array, others another', () => {
  const block = Float32Array.of(0.5, 0.5)
  assert.equal(times(block, lengths, 0, 2), times(block, lengths, 0, 2))
  assert.notDeepEqual(times(block, lengths, 1, 2), times(block, lengths, 0, 2))
})

test('the most that a number can be is the longest value that is a number', () => {
  const site = /** @type {any} */ ({ lengths: { through: 'o_proj', why: null } })
  assert.deepEqual(secondOf(site, Float32Array.of(2, NaN, 3, Infinity)).most, 3)
  assert.equal(secondOf(site, Float32Array.of(0, 0)).most, 1)
  assert.equal(secondOf(site, lengths).name, 'weight × |v W_O|')
})

test('what keys receive is times their length, what rows have stays', () => {
  const sides = { entropy: Float32Array.of(1, 2), received: Float32Array.of(1, 0.5, 0), received_mean: Float32Array.of(0.5, 0.5, NaN), largest: Float32Array.of(1, 1), length: lengths }
  const second = secondOf(/** @type {any} */ ({ lengths: { through: null, why: null } }), lengths)
  const along = stretched(sides, second, Float32Array.of(2, 2))
  assert.deepEqual([...along.received], [2, 0.25, 0])
  assert.deepEqual([...along.received_mean], [1, 0.25, NaN])
  assert.deepEqual([along.entropy, [...along.largest]], [sides.entropy, [2, 2]])
  assert.equal(stretched(sides, second, undefined).received, along.received) // bars see that nothing changed
})

test('colours reach to the largest of the head, and the legend says how much that is', () => {
  const head = { largest: () => 4, sorted: () => new Float32Array(), most: 8 }
  assert.equal(makeScale('linear', head)(2, 0), 0.25)
  assert.equal(makeScale('log', head)(8, 0), 1)
  assert.equal(makeScale('log', head)(0.0008, 0), 0)
  assert.deepEqual(ticks('linear', 8), ['0', '2.00', '4.00', '6.00', '8.00'])
  assert.deepEqual(ticks('linear'), ['0', '.25', '.5', '.75', '1'])
})

test('a head without W_O says what its lengths are of, and one of which nothing is known why', () => {
  const site = (/** @type {string|null} */ through, /** @type {string|null} */ why) => /** @type {any} */ ({ lengths: { through, why } })
  assert.equal(nameOf(site('o_proj', null)), 'weight × |v W_O|')
  assert.equal(nameOf(site(null, null)), 'weight × |v|')
  assert.equal(aboutOf(site(null, 'a gate came between')), 'No second picture: a gate came between.')
})

test('the receipt ends with what the key adds after W_O, where that is known', () => {
  const cell = { terms: [1], q: [1], k: [1], d: 1, products: 1, scale: 1, scaled: 1, softcap: null, capped: null, bias: null, visible: true, why: '', score: 1, peak: 1, logsum: 0.7, lse: 1.7, shown: 0.5, i: 1, j: 0, row_keys: 2, sink: null, value: 4, mix: 2 }
  const value = (/** @type {number|null} */ length) => sections(/** @type {any} */ ({ ...cell, length }))[3]
  assert.equal(value(3).result, '1.5000')
  assert.equal(value(3).lines.length, 2)
  assert.equal(value(null).result, '2.0000')
  assert.deepEqual(sections(/** @type {any} */ ({ ...cell, length: 4, through: null }))[3].lines.map(({ how }) => how), ['.5000 × length of v 4.0000'])
})
