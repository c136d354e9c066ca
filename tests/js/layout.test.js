import assert from 'node:assert/strict'
import { test } from 'node:test'
import { edges, heatmapLayout, MOST_CELLS, thumbnailSide, tickPositions, tipPlace, windowOver } from '../../src/attnscope/web/static/js/pure/layout.js'

test('28 tokens in 512 px are drawn at 18 px a cell, with labels and a hairline', () => {
  const layout = heatmapLayout({ rows: 28, columns: 28, width: 512, height: 513 })
  assert.equal(layout.cell, 18)
  assert.equal(layout.width, 504)
  assert.ok(layout.labelled && layout.gap === 1)
})

test('256 tokens shrink to 2 px a cell and all of them are shown', () => {
  const layout = heatmapLayout({ rows: 256, columns: 256, width: 512, height: 513 })
  assert.deepEqual([layout.cell, layout.rows, layout.columns, layout.gap, layout.labelled], [2, 256, 256, 0, false])
})

test('labels of several characters give way to positions before short ones do', () => {
  const room = { rows: 54, columns: 54, width: 520, height: 520 }
  assert.ok(heatmapLayout(room).labelled)
  assert.ok(!heatmapLayout({ ...room, long: true }).labelled)
})

test('no layout is larger than its room, shows more cells than there are or more than 256', () => {
  for (const total of [1, 2, 3, 5, 28, 64, 97, 128, 255, 256, 257, 2048, 131072]) {
    for (const width of [120, 287, 332, 464, 512, 900]) {
      for (const ratio of [1, 1.5, 2, 3]) {
        const layout = heatmapLayout({ rows: total, columns: total, width, height: 5000, ratio })
        assert.ok(layout.width <= width + 1e-9, `${total} in ${width}: ${layout.width}`)
        assert.ok(layout.columns <= Math.min(total, MOST_CELLS) && layout.columns > 0)
        assert.ok(layout.cell >= 2 && layout.cell <= 36)
      }
    }
  }
})

test('a window stays while the choice is inside and moves to hold it', () => {
  assert.deepEqual(windowOver(null, 256, 28, 5), { start: 0, size: 28 })
  const first = windowOver(null, 256, 2048, 1000)
  assert.deepEqual(first, { start: 872, size: 256 })
  assert.deepEqual(windowOver(first, 256, 2048, 1127), first)
  assert.deepEqual(windowOver(first, 256, 2048, 1128), { start: 1000, size: 256 })
  assert.deepEqual(windowOver(first, 256, 2048, 0), { start: 0, size: 256 })
  assert.deepEqual(windowOver(first, 256, 2048, 2047), { start: 1792, size: 256 })
})

test('ticks are round, inside the span and far enough apart', () => {
  assert.deepEqual(tickPositions({ start: 0, size: 256 }, 2), [0, 50, 100, 150, 200, 250])
  assert.deepEqual(tickPositions({ start: 872, size: 200 }, 2), [900, 950, 1000, 1050])
  assert.deepEqual(tickPositions({ start: 0, size: 60 }, 8), [0, 10, 20, 30, 40, 50])
})

test('edges are whole device pixels and neighbours touch', () => {
  assert.deepEqual([...edges(4, 2.5, 1)], [0, 3, 5, 8, 10])
  assert.deepEqual([...edges(2, 18, 2)], [0, 36, 72])
})

test('thumbnails fit their panel and are crisp where that is cheap', () => {
  assert.equal(thumbnailSide({ width: 364, columns: 6, cells: 28 }), 56)
  for (const columns of [1, 4, 6, 9, 12]) {
    for (const cells of [1, 5, 28, 33, 64]) assert.ok((thumbnailSide({ width: 364, columns, cells }) + 4) * columns <= 364)
  }
  assert.equal(thumbnailSide({ width: 364, columns: 32, cells: 64 }), 22)
})

test('a tooltip stands up and left of its cell and flips to stay inside', () => {
  const tip = { width: 120, height: 90 }
  const plane = { width: 504, height: 504 }
  assert.deepEqual(tipPlace({ x: 378, y: 486, cell: 18, tip, plane }), { left: 246, top: 384 })
  assert.deepEqual(tipPlace({ x: 0, y: 0, cell: 18, tip, plane }), { left: 30, top: 30 })
  const edge = tipPlace({ x: 100, y: 300, cell: 18, tip, plane: { width: 150, height: 504 } })
  assert.ok(edge.left + tip.width <= 150 + 72)
})
