import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arc, layout, thickness } from '../../src/attnscope/web/static/js/pure/arcs.js'
import { lay, line } from '../../src/attnscope/web/static/js/pure/flow.js'
import { bands, layStrips } from '../../src/attnscope/web/static/js/pure/strips.js'

const WORDS = "The animal didn't cross the street because it was too tired".split(' ')
const BOXES = [
  { id: 'x', text: 'X', says: '', column: 0, row: 1 }, { id: 'q', text: 'Q', says: '', column: 1, row: 0 },
  { id: 'v', text: 'V', says: '', column: 1, row: 2 }, { id: 'mix', text: 'mix', says: '', column: 2, row: 1 },
]
const STAGES = [
  ['x', 1, 1, 64], ['qkv', 3, 1, 64], ['split', 3, 4, 16], ['weights', 1, 4, 8], ['outs', 1, 4, 16], ['joined', 1, 4, 16], ['out', 1, 1, 64],
].map(([id, groups, parts, width]) => ({ id, text: id, says: '', axes: [], shape: [], groups, parts, width }))

test('words that fit stand in a line, in order and apart', () => {
  const { places, upright, width } = layout(WORDS, 560)
  assert.equal(upright, false)
  assert.ok(width <= 560)
  places.slice(1).forEach((place, j) => assert.ok(place.x - place.width / 2 >= places[j].x + places[j].width / 2))
})

test('words that do not fit stand in a column inside the width', () => {
  for (const width of [150, 175, 400]) {
    const laid = layout(WORDS, width)
    assert.equal(laid.upright, true)
    assert.ok(laid.width <= Math.max(width, 0))
    assert.equal(laid.height, 26 * WORDS.length)
  }
})

test('an arc begins at the one word and ends at the other, and is as wide as its weight', () => {
  const laid = layout(WORDS, 700)
  const numbers = arc(laid, 7, 1).match(/-?[\d.]+/g).map(Number)
  assert.deepEqual([numbers[0], numbers.at(-2)], [laid.places[7].x, laid.places[1].x])
  assert.equal(thickness(0.5), 11)
  assert.equal(thickness(0.001), 0.5)
})

test('boxes that fit go across and others go down, and no arrow runs through its boxes', () => {
  assert.equal(lay(BOXES, 400).across, true)
  assert.equal(lay(BOXES, 200).across, false)
  const laid = lay(BOXES, 400)
  const { d, level } = line(laid, { start: 'x', end: 'q', axes: [], shape: [] })
  assert.match(d, /^M[\d.]+ 96L/)
  assert.equal(level, false)
})

test('the shape on a slanting arrow stands as far along it as it is told', () => {
  const laid = lay(BOXES, 400)
  const arrow = { start: 'x', end: 'q', axes: [], shape: [] }
  const [begin, middle, end] = [0, 0.5, 1].map((along) => line(laid, arrow, along))
  assert.equal(line(laid, arrow).x, middle.x)
  assert.match(middle.d, new RegExp(`^M${begin.x} ${begin.y}L${end.x} ${end.y}$`))
})

test('strips are as long as they have numbers and stay inside the width', () => {
  for (const width of [330, 800, 1100]) {
    const laid = layStrips(STAGES, 64, width)
    for (const { stage, parts } of laid.strips) {
      assert.equal(parts.length, stage.groups * stage.parts)
      for (const part of parts) {
        assert.ok(part.x >= laid.left - 0.01 && part.x + part.width <= width + 0.01)
        assert.ok(Math.abs(part.width / parts[0].width - 1) < 1e-9)
      }
    }
    const [x, , split] = laid.strips
    assert.ok(Math.abs(split.parts[0].width * 4 - x.parts[0].width) < 1e-9)
    assert.equal(bands(laid, 2, 4).length, 3 + 3 + 2 + 1 + 1 + 1 + 1)
  }
})
