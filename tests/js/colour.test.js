import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { contrast, fromOklab, inkOn, makeMap, packed, parseStops, stepOf, toOklab } from '../../src/attnscope/web/static/js/pure/colour.js'

const css = readFileSync(new URL('../../src/attnscope/web/static/css/tokens.css', import.meta.url), 'utf8')
const stops = (name) => parseStops(css.match(new RegExp(`--map-${name}: ([^;]+);`))[1])
const maps = { light: makeMap(stops('light')), dark: makeMap(stops('dark')) }

test('the map passes through its eleven stops', () => {
  for (const name of ['light', 'dark']) {
    const list = stops(name)
    assert.equal(list.length, 11)
    list.forEach((stop, at) => {
      const got = maps[name].at(at / 10)
      stop.forEach((channel, axis) => assert.ok(Math.abs(channel - got[axis]) <= 1, `${name} ${at}`))
    })
  }
})

test('OKLab there and back is the same colour', () => {
  for (const colour of [[0, 0, 0], [255, 255, 255], [111, 189, 232], [27, 26, 73], [255, 0, 0]]) assert.deepEqual(fromOklab(toOklab(colour)), colour)
})

test('white is lightness one without colour', () => {
  const [l, a, b] = toOklab([255, 255, 255])
  assert.ok(Math.abs(l - 1) < 1e-4 && Math.abs(a) < 1e-4 && Math.abs(b) < 1e-4)
})

test('lightness goes one way from zero to one', () => {
  for (const [name, way] of [['light', -1], ['dark', 1]]) {
    let before = null
    for (let step = 0; step <= 64; step++) {
      const l = toOklab(maps[name].at(step / 64))[0] * way
      if (before !== null) assert.ok(l > before - 1e-9, `${name} at ${step}`)
      before = l
    }
  }
})

test('a number on any cell has a contrast of at least 4.58', () => {
  for (const map of Object.values(maps)) {
    for (let step = 0; step < 1024; step++) {
      const colour = map.at(step / 1023)
      const ink = inkOn(colour) === 'light' ? [255, 255, 255] : [0, 0, 0]
      assert.ok(contrast(colour, ink) >= 4.58, `${colour}`)
    }
  }
})

test('what lies outside zero to one is held to the ends', () => {
  assert.equal(stepOf(-1), 0)
  assert.equal(stepOf(NaN), 0)
  assert.equal(stepOf(7), 1023)
  assert.deepEqual(maps.light.at(2), maps.light.at(1))
})

test('pixels are the colours as ImageData holds them', () => {
  assert.equal(packed([1, 2, 3]), 0xff030201)
  assert.equal(maps.light.pixels[0], packed(maps.light.at(0)))
  assert.equal(maps.light.css(0), `rgb(${maps.light.at(0).join(' ')})`)
})
