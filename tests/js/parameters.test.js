import assert from 'node:assert/strict'
import { test } from 'node:test'

import { cellOf, orderOf, upTo, whole } from '../../src/attnscope/web/static/js/pure/parameters.js'

test('a whole number is read below its end and nothing else', () => {
  assert.equal(whole('0', 3), 0)
  assert.equal(whole('2', 3), 2)
  for (const wrong of ['3', '-1', '1.5', '1e0', '', ' 1', 'x', undefined, '9999999999']) assert.equal(whole(wrong, 3), null)
})

test('a cell is a row and a column that are there', () => {
  assert.deepEqual(cellOf('3.2', 6, 6), { i: 3, j: 2 })
  for (const wrong of ['6.0', '0.6', '1', '1.2.3', '.', '', undefined, 'a.b']) assert.equal(cellOf(wrong, 6, 6), null)
})

test('an order holds every place once', () => {
  assert.deepEqual(orderOf('21034', 5), [2, 1, 0, 3, 4])
  for (const wrong of ['2103', '00123', '01235', '0123x', '', undefined]) assert.equal(orderOf(wrong, 5), null)
})

test('positions are words in their order', () => assert.deepEqual(upTo(3), ['0', '1', '2']))
