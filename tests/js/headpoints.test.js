import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextPoint } from '../../src/attnscope/web/static/js/pure/heads/points.js'

const POINTS = [{ x: 3, y: 1 }, { x: 1, y: 2 }, { x: 3, y: 0 }]

test('left and right go in the order of x, up and down in that of y', () => {
  assert.deepEqual(['ArrowRight', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'Home', 'End', 'a'].map((key) => nextPoint({ key }, POINTS, 0)), [0, 1, 2, 2, 1, 0, null])
})

test('a key held with Ctrl is left to the browser', () => assert.equal(nextPoint({ key: 'Home', ctrlKey: true }, POINTS, 0), null))
