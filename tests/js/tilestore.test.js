import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTiles } from '../../src/attnscope/web/static/js/tilestore.js'

const tile = (/** @type {number} */ col) => ({ level: 9, row: 0, col })
const plane = new Float32Array(1)
const loaded = { rows: 1, columns: 1, planes: { max: plane, mean: plane, sum: plane } }
const rest = () => new Promise((resolve) => setTimeout(resolve, 5))

test('what is looked at is never dropped, however much of it there is', async () => {
  let asked = 0
  const tiles = createTiles(async () => { asked++; return loaded }, () => {})
  const many = Array.from({ length: 300 }, (_, col) => tile(col))
  tiles.want(many)
  for (let waits = 0; tiles.awaited() && waits < 200; waits++) await rest()
  tiles.want(many)
  await rest()
  assert.equal(asked, 300)
  assert.ok(many.every((one) => tiles.get(one)))
})

test('what left the view is given up, and asked for anew when it comes back', async () => {
  /** @type {AbortSignal[]} */ const signals = []
  const tiles = createTiles((_, signal) => { signals.push(signal); return new Promise(() => {}) }, () => {})
  tiles.want([tile(0), tile(1)])
  tiles.want([tile(1)])
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, false])
  tiles.want([tile(1), tile(0)])
  assert.equal(signals.length, 3)
})
