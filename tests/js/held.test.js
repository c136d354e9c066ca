import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heldNumbers } from '../../src/attnscope/web/static/js/held.js'
import { amongAll, blockIn, numbersIn, pictureIn, seenIn } from '../../src/attnscope/web/static/js/pure/held.js'
import { windowWithin } from '../../src/attnscope/web/static/js/pure/layout.js'

const text = (/** @type {ArrayBufferView} */ array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64')
const floats = (/** @type {number[]} */ ...values) => text(new Float32Array(values))
// rows 2, 3 and 4 of 5: row 2 sees columns 0 to 2, row 3 nothing, row 4 columns 1 and 3 to 4
const RUNS = text(new Int32Array([1, 0, 2, 0, 3, 1, 2, 3, 5]))
const VALUES = floats(0.5, 0.25, 0.25, 0.125, 0.75, 0.0625)
const all = (/** @type {number} */ size) => ({ start: 0, size })

test('runs are read as they were told', () => {
  const seen = seenIn(RUNS, 2, 5)
  assert.deepEqual([...seen.runs], [0, 1, 1, 3])
  assert.deepEqual([...seen.places], [0, 3, 3, 6])
  assert.throws(() => seenIn(text(new Int32Array([1, 0, 2, 0, 3])), 2, 5), /were told/)
})

test('a block has −1 where nothing is visible and no number where a row is not here', () => {
  const [values, seen] = [numbersIn(VALUES), seenIn(RUNS, 2, 5)]
  const grid = blockIn(values, seen, all(5), all(5))
  assert.deepEqual([...grid.subarray(10)], [0.5, 0.25, 0.25, -1, -1, -1, -1, -1, -1, -1, -1, 0.125, -1, 0.75, 0.0625])
  assert.ok(grid.subarray(0, 10).every(Number.isNaN))
  assert.deepEqual([...blockIn(values, seen, { start: 4, size: 1 }, { start: 1, size: 3 })], [0.125, -1, 0.75])
  assert.ok(blockIn(values, seen, all(2), all(5)).every(Number.isNaN))
})

test('a small picture shows the largest weight of each square', () => {
  const small = pictureIn(numbersIn(VALUES), seenIn(RUNS, 2, 5), { rows: 5, columns: 5 }, 2)
  assert.deepEqual([...small], [-1, -1, -1, 0.5, 0.25, -1, 0.125, 0.75, 0.0625])
})

test('numbers of some rows stand among all', () => {
  assert.deepEqual([...amongAll(new Float32Array([1, 2]), 2, 5)], [NaN, NaN, 1, 2, NaN])
  const whole = new Float32Array(3)
  assert.equal(amongAll(whole, 0, 3), whole)
})

test('the views are given one and the same part each time, and nothing of a head that is not here', () => {
  const site = /** @type {any} */ ({ site: 0, heads: 2, tq: 5, tk: 5, not_drawn: null })
  const head = { site: 0, head: 1, seen: 0, values: VALUES, entropy: floats(1, 0, 2), largest: floats(0.5, 0, 0.75), received: floats(1, 2, 3, 4, 5) }
  const numbers = heldNumbers(/** @type {any} */ ({ result: { sites: [site] }, heads: [head], seen: [RUNS], rows: [[2, 5]] }))
  const of = { site, head: 1 }
  assert.equal(numbers.row(of, 2), numbers.row(of, 2))
  assert.deepEqual([...(numbers.column(of, 1) ?? [])], [NaN, NaN, 0.25, -1, 0.125])
  assert.deepEqual([...(numbers.sides(of)?.entropy ?? [])], [NaN, NaN, 1, 0, 2])
  assert.equal(numbers.whole(of), undefined) // rows are missing
  assert.equal(numbers.block({ site, head: 0 }, all(5), all(5)), undefined)
  assert.equal(numbers.problem(of, 0, 0), null)
  const { shape, values } = numbers.thumbnails()
  assert.deepEqual(shape, [2, 5, 5])
  assert.ok(values.subarray(0, 25).every((value) => value === -1))
  assert.equal(values[25 + 10], 0.5)
})

test('a window stays among the rows that are here', () => {
  assert.deepEqual(windowWithin(null, 4, 10, 20, 19), { start: 16, size: 4 })
  assert.deepEqual(windowWithin({ start: 12, size: 4 }, 4, 10, 20, 13), { start: 12, size: 4 })
  assert.deepEqual(windowWithin(null, 50, 10, 20, 13), { start: 10, size: 10 })
})
