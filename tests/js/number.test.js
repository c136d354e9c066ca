import assert from 'node:assert/strict'
import { test } from 'node:test'
import { count, fixed, four, limit, number, plural, small, weight, weight7 } from '../../src/attnscope/web/static/js/pure/number.js'

test('a weight has three places and no leading zero', () => {
  assert.equal(weight(0.8081), '.808')
  assert.equal(weight(0.0005), '.001')
  assert.equal(weight(0.99961), '1.000')
})

test('zero alone is written 0 and a tiny weight keeps its power', () => {
  assert.equal(weight(0), '0')
  assert.equal(weight(-0), '0')
  assert.equal(weight(3.2e-5), '3e−5')
  assert.equal(weight(1e-45), '1e−45')
})

test('no non-zero number is ever written as a row of zeros', () => {
  for (let power = 0; power < 320; power++) {
    for (const places of [2, 3, 4, 7]) assert.match(fixed(1.7 * 10 ** -power, places), /[1-9]/)
  }
})

test('minus is a true minus and thousands have commas', () => {
  assert.equal(four(-1.43149), '−1.4315')
  assert.equal(four(-0.5), '−.5000')
  assert.equal(four(12204.5), '12,204.5000')
  assert.equal(count(131072), '131,072')
  assert.equal(count(-9200), '−9,200')
  assert.equal(plural(1, 'token'), '1 token')
  assert.equal(plural(2048, 'token'), '2,048 tokens')
})

test('seven places for tooltips', () => {
  assert.equal(weight7(Math.fround(0.2389475)), '.2389475')
  assert.equal(weight7(3e-9), '3e−9')
})

test('sizes are short and numbers that are not finite have words', () => {
  assert.equal(small(3.1e-8), '3e−8')
  assert.equal(small(0), '0')
  assert.equal(small(0.25), '.25')
  assert.equal(four(NaN), 'not a number')
  assert.equal(four(-Infinity), '−∞')
  assert.equal(number('-inf'), -Infinity)
  assert.equal(number('inf'), Infinity)
  assert.ok(Number.isNaN(number('nan')))
})

test('a limit is written as it was set', () => {
  assert.deepEqual([8, 1.2, 20, 0.5].map(limit), ['8', '1.2', '20', '.5'])
})
