import assert from 'node:assert/strict'
import { test } from 'node:test'
import { action } from '../../src/attnscope/web/static/js/views/walk/keys.js'
import { arrange } from '../../src/attnscope/web/static/js/views/walk/layout.js'

const base = { n: 4, d: 2, longest: 4, stage: 5 }

/** The least px that the columns need. @param {string} columns */
const least = (columns) => [...columns.matchAll(/(\d+)px/g)].reduce((sum, [, px]) => sum + Number(px), 0)

test('four words stand side by side on a desk, fold on a small screen, and follow one another on a phone', () => {
  assert.equal(arrange({ ...base, width: 1186 }).fit, 'wide')
  assert.equal(arrange({ ...base, width: 974 }).fit, 'fold')
  assert.equal(arrange({ ...base, width: 356 }).fit, 'tabs')
})

test('the columns never need more than there is', () => {
  for (let width = 300; width < 2400; width += 37) {
    for (const n of [2, 4, 5, 8]) for (const d of [1, 2, 3, 5, 8]) for (const stage of [0, 2, 4, 5]) {
      const { columns } = arrange({ width, n, d, longest: 24, stage })
      assert.ok(least(columns) <= width, `${width} px, n = ${n}, d = ${d}: ${columns}`)
    }
  }
})

test('a step from stage to stage never changes the way the page is laid out', () => {
  for (let width = 300; width < 2400; width += 37) {
    for (const n of [2, 4, 8]) for (const d of [1, 2, 8]) {
      const fits = [0, 1, 2, 3, 4, 5].map((stage) => arrange({ width, n, d, longest: 6, stage }).fit)
      assert.equal(new Set(fits).size, 1, `${width} px, n = ${n}, d = ${d}: ${fits}`)
    }
  }
})

test('the keys of the walk', () => {
  assert.equal(action({ key: 'ArrowRight' }), 'step')
  assert.equal(action({ key: 'ArrowLeft', shiftKey: true }), 'back stage')
  assert.equal(action({ key: 'z', ctrlKey: true }), 'undo')
  assert.equal(action({ key: 'ArrowRight', altKey: true }), null)
  assert.equal(action({ key: 'Home', ctrlKey: true }), null)
})
