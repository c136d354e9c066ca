import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeMap, parseStops } from '../../src/attnscope/web/static/js/pure/colour.js'
import * as paint from '../../src/attnscope/web/static/js/pure/map/paint.js'

const map = makeMap(parseStops('#000000, #ffffff')).pixels
const wanted = { name: 'linear', reduction: 'max', largest: () => 1, sorted: new Float32Array(0) }

test('what is not visible stays transparent, and 0 does not', () => {
  const pixels = paint.paint({ values: Float32Array.of(-1, 0, 1, 0.5), rows: 2, columns: 2, stride: 1, top: 0 }, 2, wanted, map)
  assert.equal(pixels[0], 0)
  assert.equal(pixels[1], map[0])
  assert.equal(pixels[2], map[1023])
})

test('a sum is shared among the queries of its pixel, fewer at the last row', () => {
  const tile = { values: Float32Array.of(4, 2), rows: 2, columns: 1, stride: 4, top: 0 }
  const pixels = paint.paint(tile, 6, { ...wanted, reduction: 'sum' }, map)
  assert.deepEqual([...pixels], [map[1023], map[1023]])
})

test('the log scale spans five decades, the row scale ends at the largest of the rows', () => {
  const log = paint.scaleOf({ ...wanted, name: 'log' })
  assert.equal(log(1, 0, 1), 1)
  assert.equal(log(1e-5, 0, 1), 0)
  assert.equal(log(0, 0, 1), 0)
  const row = paint.scaleOf({ ...wanted, name: 'row', largest: (first, end) => (end - first) / 10 })
  assert.equal(row(0.1, 3, 5), 0.5)
})

test('where a number may be more than 1, colours end with the most that it can be, and the legend says so', () => {
  const most = 8
  assert.equal(paint.scaleOf({ ...wanted, most })(2, 0, 1), 0.25)
  assert.equal(paint.scaleOf({ ...wanted, name: 'log', most })(8, 0, 1), 1)
  assert.equal(paint.scaleOf({ ...wanted, name: 'log', most })(8e-5, 0, 1), 0)
  const pixels = paint.paint({ values: Float32Array.of(8, 0), rows: 1, columns: 2, stride: 1, top: 0 }, 1, { ...wanted, most }, map)
  assert.deepEqual([...pixels], [map[1023], map[0]])
  assert.deepEqual(paint.ticks('linear', most), ['0', '2.00', '4.00', '6.00', '8.00'])
  assert.deepEqual([paint.ticks('log', most)[0], paint.ticks('log', most)[5]], ['≤ 8e−5', '8.00'])
  assert.equal(paint.ticks('linear')[4], '1')
})

test('rank is the share of the whole picture that is smaller', () => {
  const rank = paint.scaleOf({ ...wanted, name: 'rank', sorted: Float32Array.of(0, 0.1, 0.2, 0.3, 0.4) })
  assert.equal(rank(0.4, 0, 1), 1)
  assert.equal(rank(0, 0, 1), 0)
  assert.equal(rank(0.25, 0, 1), 0.75)
})

test('the largest of any range is that of a plain search', () => {
  const values = Float32Array.from({ length: 101 }, (_, at) => ((at * 7919) % 101) / 101)
  const largest = paint.rangeMaxima(values)
  for (let start = 0; start < 101; start += 3) for (let end = start + 1; end <= 101; end += 7) assert.equal(largest(start, end), Math.max(...values.slice(start, end)))
  assert.equal(largest(5, 5), 0)
})

test('bars reduce what they stand for, and leave out what is not there', () => {
  const values = Float32Array.of(1, 3, NaN, 5, NaN, NaN)
  assert.deepEqual([...paint.reduced(values, 0, 6, 3, 'mean')], [2, 5, NaN])
  assert.deepEqual([...paint.reduced(values, 0, 6, 3, 'max')], [3, 5, NaN])
})

test('a pixel says what it stands for, and that it widens a line', () => {
  const count = String
  assert.equal(paint.pixelWords('max', 1, count), '1 pixel = 1 cell, its weight')
  assert.equal(paint.pixelWords('max', 4, count, 'weight × |v W_O|'), '1 pixel = 4 × 4 cells, their largest weight × |v W_O|')
  assert.match(paint.pixelWords('mean', 64, count), /64 × 64 cells, the mean/)
  assert.match(paint.widened('max', 64, count), /64 cells wide/)
  assert.equal(paint.widened('max', 1, count), '')
})
