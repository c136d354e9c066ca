import assert from 'node:assert/strict'
import { test } from 'node:test'
import { axisOver, placeOn, powerTicks, roundTicks, spreadOut, tickText, ticksOf } from '../../src/attnscope/web/static/js/pure/ticks.js'

test('ticks are round numbers between the ends', () => {
  assert.deepEqual(roundTicks(0, 30), [0, 10, 20, 30])
  assert.deepEqual(roundTicks(0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1])
  assert.deepEqual(roundTicks(1.5, 4.7, 5), [2, 3, 4])
  assert.deepEqual(roundTicks(3, 3), [3])
  for (const high of [0.003, 0.7, 5, 23, 1024, 3000]) assert.ok(roundTicks(0, high).length <= 6 && roundTicks(0, high).length >= 3, String(high))
})

test('ticks of a logarithm are powers, thinned where there are many', () => {
  assert.deepEqual(powerTicks(1, 1024, 2, 11), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024])
  assert.deepEqual(powerTicks(1, 1024, 2, 6), [1, 4, 16, 64, 256, 1024])
  assert.deepEqual(ticksOf({ low: 0.001, high: 10, base: 10 }), [0.001, 0.01, 0.1, 1, 10].map((x) => 10 ** Math.round(Math.log10(x))))
})

test('a value stands between the ends as its share, or its share of powers', () => {
  assert.equal(placeOn({ low: 0, high: 4, base: 0 }, 1), 0.25)
  assert.ok(Math.abs(placeOn({ low: 1, high: 1024, base: 2 }, 32) - 0.5) < 1e-12)
  assert.equal(placeOn({ low: 3, high: 3, base: 0 }, 3), 0.5)
})

test('an axis holds every value and starts at nothing unless told', () => {
  assert.deepEqual(axisOver([2, 22.6]), { low: 0, high: 25, base: 0 })
  assert.deepEqual(axisOver([1.6942, 4.7], { min: 1 }), { low: 1, high: 5, base: 0 })
  const powers = axisOver([3e-8, 0.2], { base: 10 })
  assert.ok(powers.low <= 3e-8 && powers.high >= 0.2 && powers.high < 1.0001)
  assert.ok(axisOver([]).high > axisOver([]).low)
  assert.ok(axisOver([], { base: 10 }).high > 0)
})

test('labels keep their distance and their order', () => {
  const placed = spreadOut([100, 102, 101], 15, 20, 200)
  assert.deepEqual(placed, [100, 130, 115])
  assert.deepEqual(spreadOut([199, 199], 15, 20, 200).sort((a, b) => a - b), [185, 200])
  assert.deepEqual(spreadOut([], 15, 0, 10), [])
})

test('ticks are written as one types them', () => {
  assert.deepEqual([0, 10, 0.25, 1.5, 1024, 1e-8, -2, 0.001].map(tickText), ['0', '10', '.25', '1.5', '1,024', '1e−8', '−2', '.001'])
})
