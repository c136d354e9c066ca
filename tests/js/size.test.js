// Section 7: bytes and seconds as the page writes them, the square and its stand-ins, and triangles as squares.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { inMegabytes, seconds, size } from '../../src/attnscope/web/static/js/pure/size.js'
import { square } from '../../src/attnscope/web/static/js/pure/square.js'
import { largestAt, triangle } from '../../src/attnscope/web/static/js/pure/triangle.js'

const KB = 1024
const MB = KB * KB
const GB = KB * MB

test('bytes stand in the largest unit that keeps a whole number before it', () => {
  const written = [0, 1, 1023, 16 * KB, 16.5 * KB, 4 * MB, 256 * MB, 64 * GB, 3 * 1024 * GB].map(size)
  assert.deepEqual(written, ['0 bytes', '1 bytes', '1,023 bytes', '16 KB', '16.5 KB', '4 MB', '256 MB', '64 GB', '3 TB'])
})

test('of two tenths as near the larger one is taken, as in Python', () => {
  assert.deepEqual([8.25, 8.75, 4.125, 33.05].map((x) => size(x * MB)), ['8.3 MB', '8.8 MB', '4.1 MB', '33 MB'])
})

test('from one GB on the MB are told too', () => {
  assert.equal(inMegabytes(64 * GB), '65,536 MB = 64 GB')
  assert.equal(inMegabytes(GB), '1,024 MB = 1 GB')
  assert.equal(inMegabytes(256 * MB), '256 MB')
})

test('seconds keep three digits that count', () => {
  assert.deepEqual([0.0145, 0.243, 3.424, 12.53].map(seconds), ['.0145', '.243', '3.42', '12.5'])
})

test('grid, half, strip, tile and band stand to one scale', () => {
  const parts = square({ side: 300, tokens: 3000, kept: 66, window: 500, tile: { rows: 256, columns: 2048 } })
  assert.deepEqual(parts.half, { x: 0, y: 0, width: 150, height: 150 })
  assert.equal(parts.strip.width.toFixed(6), '6.600000')
  assert.deepEqual([parts.tile.width, parts.tile.height].map((px) => px.toFixed(1)), ['204.8', '25.6'])
  assert.equal(parts.band, '0.00,0.00 300.00,300.00 250.00,300.00 0.00,50.00')
  assert.deepEqual(parts.thin, [])
})

test('what would be under a pixel is one pixel and named', () => {
  const parts = square({ side: 300, tokens: 131072, kept: 66, window: 32, tile: { rows: 256, columns: 2048 } })
  assert.deepEqual(parts.thin, ['rows', 'window', 'tile'])
  assert.equal(parts.strip.width, 1)
})

test('a window longer than the text is the whole triangle, and the strip may be wider than the square', () => {
  const parts = square({ side: 300, tokens: 60, kept: 66, window: 512, tile: { rows: 256, columns: 2048 } })
  assert.equal(parts.band, '0.00,0.00 300.00,300.00 0.00,300.00 0.00,300.00')
  assert.ok(parts.strip.width > 300)
  assert.equal(parts.tile.width, 300)
})

test('a triangle sent row after row becomes a square with -1 where nothing is visible', () => {
  const { weights, rows } = triangle([1, 0.25, 0.75, 0.5, 0, 0.5], 3)
  assert.deepEqual([...weights], [1, -1, -1, 0.25, 0.75, -1, 0.5, 0, 0.5])
  assert.deepEqual(rows, [[1], [0.25, 0.75], [0.5, 0, 0.5]])
  assert.deepEqual(rows.map(largestAt), [0, 1, 0])
})
