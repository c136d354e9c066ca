import assert from 'node:assert/strict'
import { test } from 'node:test'
import { largest, largestOfRows, makeScale, meaning, rankIn, SCALES, sortedVisible, ticks } from '../../src/attnscope/web/static/js/pure/scale.js'

const grid = Float32Array.of(1, -1, -1, 0.25, 0.75, -1, 0.5, 0.125, 0.375)
const rows = largestOfRows(grid, 3)
const head = { largest: (row) => rows[row], sorted: () => sortedVisible(grid) }

test('linear is the weight itself', () => {
  assert.equal(makeScale('linear', head)(0.375, 2), 0.375)
})

test('log spans four decades, one a quarter', () => {
  const scale = makeScale('log', head)
  for (const [weight, place] of [[1, 1], [0.1, 0.75], [0.001, 0.25], [1e-4, 0], [1e-9, 0], [0, 0]]) assert.ok(Math.abs(scale(weight, 0) - place) < 1e-12)
})

test('row divides by the largest of its row', () => {
  const scale = makeScale('row', head)
  assert.equal(scale(0.25, 2), 0.5)
  assert.equal(scale(0.75, 1), 1)
  assert.equal(makeScale('row', { ...head, largest: () => 0 })(0, 0), 0)
})

test('rank is the share of visible cells that are smaller, and equal weights are one', () => {
  const scale = makeScale('rank', head)
  assert.equal(scale(0.125, 2), 0)
  assert.equal(scale(1, 0), 1)
  assert.equal(scale(0.375, 2), 0.4)
  assert.equal(makeScale('rank', { ...head, sorted: () => Float32Array.of(1) })(1, 0), 1)
})

test('cells that are not visible never count', () => {
  assert.deepEqual([...sortedVisible(grid)], [0.125, 0.25, 0.375, 0.5, 0.75, 1])
  assert.deepEqual([...rows], [1, 0.75, 0.5])
  assert.deepEqual([...largestOfRows(Float32Array.of(-1, -1), 2)], [0])
  assert.equal(largestOfRows(new Float32Array(0), 0).length, 0)
})

test('the largest come first and ties go to the lower place', () => {
  assert.deepEqual(largest(Float32Array.of(0.2, 0.4, -1, 0.4, 0.1, NaN), 3), [1, 3, 0])
  assert.deepEqual(largest(Float32Array.of(-1), 3), [])
  assert.equal(rankIn(0.25, Float32Array.of(0.25, 0.5, -1, 0.5)), 3)
})

test('every scale has five ticks and a meaning, and rank names no amounts', () => {
  for (const name of SCALES) {
    assert.equal(ticks(name).length, 5)
    assert.ok(meaning(name))
  }
  assert.doesNotMatch(ticks('rank').join(''), /\d/)
})
