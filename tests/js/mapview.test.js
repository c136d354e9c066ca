import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as view from '../../src/attnscope/web/static/js/pure/map/view.js'

const grid = { tq: 131072, tk: 131072, tile: 256, levels: 10 }
const size = { width: 648, height: 648 }
const all = () => true

test('the whole grid fills the plane, and no view leaves it', () => {
  const whole = view.whole(grid, size)
  assert.ok(view.isWhole(whole, grid, size))
  assert.equal(Math.round(whole.scale * grid.tk), 648)
  const far = view.held({ row: 1e9, col: -5, scale: 10 }, grid, size)
  assert.deepEqual(far, { row: grid.tq - 64.8, col: 0, scale: 10 })
  assert.deepEqual(view.held({ row: NaN, col: 0, scale: NaN }, grid, size), whole)
})

test('zooming keeps the cell under the pointer where it is, at the ends of zoom too', () => {
  let at = view.held({ row: 5000, col: 3000, scale: 0.1 }, grid, size)
  const point = { x: 200, y: 333 }
  const before = view.cellAt(at, point, grid)
  for (let n = 0; n < 12; n++) at = view.zoomedIn(at, 2, point, grid, size)
  assert.equal(at.scale, view.LARGEST_CELL)
  const near = (a, b) => Math.abs(a - b) <= 1
  assert.ok(near(view.cellAt(at, point, grid).i, before.i) && near(view.cellAt(at, point, grid).j, before.j))
  assert.deepEqual(view.zoomedIn(at, 2, point, grid, size), at)
})

test('the level that is drawn never skips a cell, and is at most twice as fine as the screen', () => {
  for (const scale of [648 / 131072, 0.01, 0.03, 0.5, 1, 3, 40]) {
    const level = view.levelOf({ row: 0, col: 0, scale }, grid, 1)
    const px = scale * view.stride(grid, level)
    assert.ok(px >= 1 || level === 0, `${scale}`)
    assert.ok(px < 2 || level === grid.levels - 1, `${scale}`)
  }
})

test('the tiles that are asked for cover what is shown, each once, and none that nothing is visible in', () => {
  const at = view.held({ row: 70000, col: 20000, scale: 0.02 }, grid, size)
  const level = view.levelOf(at, grid, 2)
  const tiles = view.tilesOf(at, grid, size, level, all)
  assert.equal(new Set(tiles.map(view.nameOf)).size, tiles.length)
  const span = view.stride(grid, level) * grid.tile
  const { rows, columns } = view.shown(at, grid, size)
  for (const [i, j] of [[rows.start, columns.start], [rows.end - 1, columns.end - 1], [rows.start, columns.end - 1]]) {
    assert.ok(tiles.some(({ row, col }) => row === Math.floor(i / span) && col === Math.floor(j / span)))
  }
  const causal = ([, bottom], [begin]) => begin <= bottom - 1
  const below = view.tilesOf(view.whole(grid, size), grid, size, 2, causal)
  assert.equal(below.length, 10) // of 4 x 4 tiles those on and under the diagonal
})

test('a tile lies inside its parent on the plane', () => {
  const at = view.held({ row: 100, col: 200, scale: 0.5 }, grid, size)
  const child = view.boxOf({ level: 7, row: 3, col: 4 }, at, grid)
  const parent = view.boxOf(view.parentOf({ level: 7, row: 3, col: 4 }), at, grid)
  assert.ok(parent.x <= child.x && parent.y <= child.y && Math.abs(parent.side - 2 * child.side) < 1e-6)
  assert.equal(view.parentOf({ level: 0, row: 0, col: 0 }), null)
})

test('ticks are round and apart', () => {
  assert.deepEqual(view.ticksOf(0, 131072, 648 / 131072, 72), [0, 20000, 40000, 60000, 80000, 100000, 120000])
  assert.deepEqual(view.ticksOf(17.4, 12, 50, 40), [18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])
})

test('a view moves as little as shows a cell whole', () => {
  const at = { row: 100, col: 50, scale: 10 } // 64.8 cells a side
  assert.deepEqual(view.showing(at, { i: 120, j: 60 }, size), at)
  assert.deepEqual(view.showing(at, { i: 99, j: 115 }, size), { row: 99, col: 116 - 64.8, scale: 10 })
})
