import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, parse, pixelsOf, placeOf, roleColour, rolesOf, signed } from '../../src/attnscope/web/static/js/pure/compare.js'
import { weight } from '../../src/attnscope/web/static/js/pure/number.js'

test('every state of Compare comes back from its own link', () => {
  const state = { ...parse(''), a: 'one', b: 'other (2)', ta: 'a\nb', align: 'token', by: 'largest', scale: 'linear', layer: 3, head: 0, i: 4, j: 7, theme: 'dark' }
  assert.deepEqual(parse(format(state)), state)
  assert.equal(format(parse('')), '')
  assert.equal(parse('?align=lcs&by=least').align, 'auto')
})

test('a difference lies as far from the middle on either side', () => {
  for (const scale of ['log', 'linear']) {
    assert.equal(placeOf(0, scale), 0.5)
    assert.equal(placeOf(1, scale), 1)
    assert.equal(placeOf(-1, scale), 0)
    for (const x of [0.3, 0.01, 1e-6]) assert.ok(Math.abs(placeOf(x, scale) + placeOf(-x, scale) - 1) < 1e-12)
  }
  assert.equal(placeOf(0.01, 'log'), 0.75)
  assert.equal(placeOf(1e-9, 'log'), 0.5)
})

test('what has no fellow and what is not visible have pixels of their own', () => {
  const map = Uint32Array.from([1, 2, 3])
  const look = { place: (x) => x, map, gone: 9, hidden: -1 }
  assert.deepEqual([...pixelsOf(Float32Array.of(NaN, -1, 0, 0.5, 1), look)], [9, 0, 1, 2, 3])
})

test('the sign of a difference is written', () => {
  assert.deepEqual([0.25, -0.25, 0].map((x) => signed(x, weight)), ['+.250', '−.250', '0'])
})

test('a pixel says who speaks at its first place', () => {
  const slot = (/** @type {string|null} */ role) => ({ a: role === null ? null : { at: 0, text: '', role }, b: { at: 0, text: '', role: 'user' } })
  assert.deepEqual(rolesOf([slot('system'), slot('user'), slot(null)], 1), ['system', 'user', 'user'])
  assert.deepEqual(rolesOf([slot('system'), slot('user'), slot(null)], 2), ['system', 'user'])
  assert.notEqual(roleColour('user'), roleColour('assistant'))
  assert.equal(roleColour('narrator'), roleColour('chorus'))
})
