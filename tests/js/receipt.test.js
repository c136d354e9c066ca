import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byTerm, PLACES, roundingOf, sections, verdict } from '../../src/attnscope/web/static/js/pure/receipt.js'

/** A cell whose numbers belong together. */
function makeCell(seed, d = 32, change = {}) {
  let state = seed
  const random = () => ((state = (state * 1103515245 + 12345) % 2147483648) / 2147483648 - 0.5) * 4
  const q = Array.from({ length: d }, random)
  const k = Array.from({ length: d }, random)
  const terms = q.map((x, at) => x * k[at])
  const products = terms.reduce((a, b) => a + b, 0)
  const scale = 1 / Math.sqrt(d)
  const score = products * scale
  const [peak, logsum] = [score + 0.7, 1.3]
  const shown = Math.fround(Math.exp(score - peak - logsum))
  return {
    layer: 2, head: 1, i: 27, j: 21, batch: 0, d, q, k, terms, products, scale, scaled: score, softcap: null, capped: null, bias: null,
    visible: true, why: '21 <= 27', score, peak, logsum, lse: peak + logsum, recomputed: Math.exp(score - peak - logsum), shown,
    difference: 3e-8, allowed: 2e-6, readds: true, rank: 2, row_keys: 28, sink: null, value: 1.42, mix: shown * 1.42, v: [], part: [], ...change,
  }
}

// a term written with a power is under the last place of a receipt
const read = (word) => (word.includes('e−') ? 0 : Number(word.replace('−', '-').replaceAll(',', '')))
const line = (section, label) => section.lines.find((one) => one.label === label)

test('terms, what is left and the rounding add up to the sum to the last digit', () => {
  for (let seed = 1; seed < 400; seed++) {
    for (const all of [false, true]) {
      const [product] = sections(makeCell(seed), all)
      const sum = product.lines[product.lines.length - 1]
      const parts = product.lines.slice(0, -1).map((one) => read(one.value))
      const rounding = sum.how ? read(sum.how.replace('rounding ', '')) : 0
      const total = [...parts, rounding].reduce((a, b) => a + Math.round(b * 10 ** PLACES), 0)
      assert.equal(total, Math.round(read(sum.value) * 10 ** PLACES), `seed ${seed}`)
    }
  }
})

test('four terms are shown, largest first, and the others are one line', () => {
  const cell = makeCell(5)
  const [product] = sections(cell)
  assert.equal(product.lines.length, 6)
  assert.equal(product.lines[0].label, `d = ${byTerm(cell.terms)[0]}`)
  assert.equal(product.lines[4].label, '28 more')
  assert.equal(sections(cell, true)[0].lines.length, 33)
  assert.equal(sections(makeCell(5, 3))[0].lines.length, 4)
})

test('equal terms stand in order of dimension', () => {
  assert.deepEqual(byTerm([1, -2, 2, 0]), [1, 2, 0, 3])
})

test('rounding is what the written figures lack', () => {
  assert.equal(roundingOf([0.00004, 0.00004], 0.00008), 0.0001)
  assert.equal(roundingOf([1, 2], 3), 0)
})

test('score, difference and weight follow from one another', () => {
  const cell = makeCell(9)
  const [, score, weight] = sections(cell)
  assert.equal(line(score, 'scale').how, '× 1 ÷ √32 = .1768')
  assert.equal(line(score, 'mask').how, 'visible, 21 ≤ 27')
  assert.equal(line(weight, 'lse').how, 'of row 27, 28 keys')
  assert.ok(Math.abs(Math.exp(read(line(weight, 'difference').value)) - read(weight.result)) < 1e-4)
})

test('what a model does not have is said and not counted', () => {
  const [, score] = sections(makeCell(9))
  assert.deepEqual(line(score, 'softcap'), { label: 'softcap', how: 'none in this model', value: '–', kind: 'none' })
  const [, capped] = sections(makeCell(9, 32, { softcap: 50, capped: 3.9, bias: -0.25, scale: 0.0625 }))
  assert.equal(line(capped, 'softcap').how, '50 × tanh(x ÷ 50)')
  assert.equal(line(capped, 'bias').value, '−.2500')
  assert.equal(line(capped, 'scale').how, '× .0625')
})

test('both ends of what a row sees are written with the same sign', () => {
  const [, score] = sections(makeCell(9, 32, { why: '11 <= 15 <= 16' }))
  assert.equal(line(score, 'mask').how, 'visible, 11 ≤ 15 ≤ 16')
})

test('a cell that is not visible has weight 0 and no verdict on terms', () => {
  const cell = makeCell(9, 32, { visible: false, why: '28 > 27', score: '-inf', shown: 0, recomputed: 0, mix: 0 })
  const [, score, weight, value] = sections(cell)
  assert.equal(line(score, 'mask').how, 'not visible, 28 > 27')
  assert.equal(weight.result, '0')
  assert.equal(value.result, '0')
  assert.match(verdict(cell).text, /exactly 0/)
})

test('the verdict shows both weights and says when they part', () => {
  const good = verdict(makeCell(9))
  assert.ok(good.ok)
  assert.match(good.text, /from the terms in float64, .* shown, difference 3e−8; the model’s rounding allows 2e−6\./)
  const bad = verdict(makeCell(9, 32, { readds: false, difference: 0.4 }))
  assert.ok(!bad.ok)
  assert.match(bad.text, /do not re-add/)
})
