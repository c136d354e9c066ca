import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEYS, moveInGrid, moveInLines, sharedShortcut, shortcut } from '../../src/attnscope/web/static/js/pure/keyboard.js'

const at = { row: 3, column: 4, rows: 6, columns: 9 }

test('arrows move one cell and stop at the edge', () => {
  assert.deepEqual(moveInGrid({ key: 'ArrowUp' }, at), { row: 2, column: 4 })
  assert.deepEqual(moveInGrid({ key: 'ArrowRight' }, at), { row: 3, column: 5 })
  assert.deepEqual(moveInGrid({ key: 'ArrowLeft' }, { ...at, column: 0 }), { row: 3, column: 0 })
  assert.deepEqual(moveInGrid({ key: 'PageDown' }, at), { row: 5, column: 4 })
})

test('Home and End stay in the row, with Ctrl they leave it', () => {
  assert.deepEqual(moveInGrid({ key: 'Home' }, at), { row: 3, column: 0 })
  assert.deepEqual(moveInGrid({ key: 'End', ctrlKey: true }, at), { row: 5, column: 8 })
  assert.deepEqual(moveInGrid({ key: 'Home', ctrlKey: true }, at), { row: 0, column: 0 })
})

test('keys of the browser are left alone', () => {
  assert.equal(moveInGrid({ key: 'ArrowLeft', altKey: true }, at), null)
  assert.equal(moveInGrid({ key: 'ArrowLeft', ctrlKey: true }, at), null)
  assert.equal(moveInGrid({ key: 'a' }, at), null)
})

// two lines of three items and one of two, of unlike widths
const middles = [[10, 0], [40, 0], [90, 0], [20, 30], [60, 30], [95, 30], [30, 60], [70, 60]]
const middle = (index) => ({ x: middles[index][0], y: middles[index][1] })

test('up and down go to the nearest item of the next line, and stay on the last one', () => {
  assert.equal(moveInLines({ key: 'ArrowDown' }, 2, 8, middle), 5)
  assert.equal(moveInLines({ key: 'ArrowDown' }, 1, 8, middle), 3)
  assert.equal(moveInLines({ key: 'ArrowUp' }, 7, 8, middle), 4)
  assert.equal(moveInLines({ key: 'ArrowUp' }, 1, 8, middle), 1)
  assert.equal(moveInLines({ key: 'ArrowDown' }, 6, 8, middle), 6)
})

test('left and right go through the lines, Home and End to the ends', () => {
  assert.equal(moveInLines({ key: 'ArrowRight' }, 2, 8, middle), 3)
  assert.equal(moveInLines({ key: 'ArrowLeft' }, 0, 8, middle), 0)
  assert.equal(moveInLines({ key: 'End' }, 0, 8, middle), 7)
  assert.equal(moveInLines({ key: 'End' }, 0, 0, middle), null)
})

test('while one types only Ctrl Enter is a shortcut', () => {
  assert.equal(shortcut({ key: 'Enter', ctrlKey: true }, true), 'run')
  assert.equal(shortcut({ key: 'b' }, true), null)
  assert.equal(shortcut({ key: 'b' }, false), 'way')
  assert.equal(shortcut({ key: 'b', ctrlKey: true }, false), null)
  assert.equal(sharedShortcut({ key: 'c', ctrlKey: true }, false), null)
  assert.equal(sharedShortcut({ key: 'c' }, true), null)
  assert.equal(shortcut({ key: '2' }, false), 'log')
})

test('every single-key shortcut is listed in the dialog', () => {
  const listed = KEYS.flatMap((part) => part.keys.flatMap((line) => line.keys))
  for (const key of ['c', 'd', '/', '?', 'b', 'x', 't', '1', '2', '3', '4']) {
    assert.ok(shortcut({ key }, false) ?? sharedShortcut({ key }, false), key)
    assert.ok(listed.includes(key), key)
  }
})
