import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellSentence, headSentence, ordinal, timeLeft, tokenSentence } from '../../src/attnscope/web/static/js/pure/announce.js'
import { block, floats, sides } from '../../src/attnscope/web/static/js/pure/decode.js'
import { breaksAfter, isItsPlace, label, onlyMarks, parts, spoken } from '../../src/attnscope/web/static/js/pure/marks.js'
import { address, chosen, isSite, listed, nearest, rows, shortName } from '../../src/attnscope/web/static/js/pure/sites.js'
import { EMPTY } from '../../src/attnscope/web/static/js/pure/urlstate.js'

const token = (text, more = {}) => ({ i: 0, id: 0, text, kind: 'text', bytes: null, continues: false, spoken: '', ...more })

test('a move is one sentence', () => {
  const cell = { i: 27, j: 21, query: 't', key: 't', weight: 0.2389475, rank: 2, of: 28 }
  assert.equal(cellSentence(cell), 'query 27 t, key 21 t, weight .239, second of 28')
  assert.equal(cellSentence({ ...cell, weight: -1 }), 'query 27 t, key 21 t, not visible')
  assert.equal(headSentence({ name: 'Layer 2', head: 4, entropy: 1.234, refused: false }), 'Layer 2 head 4, mean entropy 1.23 nats')
  assert.equal(headSentence({ name: 'Layer 2', head: 4, entropy: 1.2, refused: true }), 'Layer 2 head 4, refused, not drawn')
  assert.equal(tokenSentence({ way: 'at', at: 27, word: 't', best: { at: 15, word: 't', weight: 0.306 } }), 't, position 27, looks most at t, position 15, weight .306')
  assert.equal(tokenSentence({ way: 'by', at: 3, word: 'E', best: null }), 'E, position 3, seen by no query')
})

test('a place that is known by its number alone is said once', () => {
  const place = token('6', { kind: 'place' })
  assert.ok(isItsPlace(place, 6) && !isItsPlace(place, 7) && !isItsPlace(token('6'), 6))
  assert.equal(cellSentence({ i: 6, j: 1, query: '', key: 'a', weight: -1 }), 'query 6, key 1 a, not visible')
  assert.equal(tokenSentence({ way: 'at', at: 6, word: '', best: { at: 1, word: '', weight: 0.5 } }), 'position 6, looks most at position 1, weight .500')
})

test('ordinals are words to ten and numbers after', () => {
  assert.deepEqual([1, 2, 10, 11, 12, 13, 21, 22, 23, 101, 111, 1003].map(ordinal), ['largest', 'second', 'tenth', '11th', '12th', '13th', '21st', '22nd', '23rd', '101st', '111th', '1,003rd'])
})

test('time left is a round number', () => {
  assert.equal(timeLeft(4.12), 'about 4 s left')
  assert.equal(timeLeft(0.2), 'under 1 s left')
  assert.equal(timeLeft(200), 'about 3 min left')
  assert.equal(timeLeft(null), '')
})

test('what cannot be seen has a mark that is not its text', () => {
  assert.deepEqual(parts(token(' what')), [{ kind: 'mark', text: '␣' }, { kind: 'text', text: 'what' }])
  assert.deepEqual(parts(token('\n\t')), [{ kind: 'mark', text: '↵' }, { kind: 'mark', text: '⇥' }])
  assert.deepEqual(parts(token('', { kind: 'byte', bytes: ['F0', '9F'] })), [{ kind: 'byte', text: 'F0' }, { kind: 'byte', text: '9F' }])
  assert.deepEqual(parts(token('<pad>', { kind: 'special' })), [{ kind: 'special', text: '<pad>' }])
  assert.deepEqual(parts(token('\u200b')), [{ kind: 'mark', text: 'U+200B' }])
  assert.deepEqual(parts(token('')), [{ kind: 'mark', text: '∅' }])
})

test('right-to-left text and joined emoji stay whole', () => {
  assert.deepEqual(parts(token('שלום')), [{ kind: 'text', text: 'שלום' }])
  assert.deepEqual(parts(token('👩‍🔬')), [{ kind: 'text', text: '👩‍🔬' }])
  assert.equal(label(token(' é')), '␣é')
})

test('a line breaks after a newline and a token is spoken by its name', () => {
  assert.ok(breaksAfter(token('.\n')) && !breaksAfter(token('n')) && !breaksAfter(token('\n', { kind: 'special' })))
  assert.ok(onlyMarks(token(' ')) && !onlyMarks(token(' a')))
  assert.equal(spoken(token(' ', { spoken: 'space' })), 'space')
  assert.equal(spoken(token('a')), 'a')
})

test('floats are little-endian and must fill their shape', () => {
  const bytes = new Uint8Array([0, 0, 128, 63, 0, 0, 0, 191]).buffer
  assert.deepEqual([...floats(bytes)], [1, -0.5])
  assert.deepEqual(block(bytes, '1,2').shape, [1, 2])
  assert.throws(() => block(bytes, '3'), /2 numbers came; shape 3 wants 3/)
  assert.throws(() => floats(new ArrayBuffer(5)), /5 bytes/)
  assert.deepEqual([...sides(bytes, 'entropy:1,received:1').received], [-0.5])
  assert.throws(() => sides(bytes, 'entropy:1'), /wants 1/)
})

const site = (number, layer, more = {}) => ({ site: number, layer, kind: 'self', stack: 'decoder', heads: 4, ...more })
const hybrid = { sites: [site(0, 3), site(1, 11), site(2, 15)], missing: [0, 1, 2, 7].map((layer) => ({ layer, name: `l${layer}`, reason: 'a recurrence' })) }

test('rows are in order of layers and count heads', () => {
  const order = rows(hybrid).map((row) => (row.kind === 'site' ? `site ${row.site.layer} from ${row.first}` : `missing ${row.missing.layer}`))
  assert.deepEqual(order, ['missing 0', 'missing 1', 'missing 2', 'site 3 from 0', 'missing 7', 'site 11 from 4', 'site 15 from 8'])
})

test('a layer in a link finds its site, its gap, or the middle', () => {
  assert.equal(chosen({ ...EMPTY, layer: 11 }, hybrid).site, 1)
  const gap = chosen({ ...EMPTY, layer: 7 }, hybrid)
  assert.ok(!isSite(gap) && gap.reason === 'a recurrence')
  assert.equal(chosen({ ...EMPTY, site: 2 }, hybrid).layer, 15)
  assert.equal(chosen({ ...EMPTY, layer: 99 }, hybrid).site, 2)
  assert.equal(chosen(EMPTY, { sites: [], missing: [] }), null)
  assert.equal(nearest(7, hybrid).layer, 11)
})

test('a site is named by its layer where that is enough', () => {
  const both = { sites: [site(0, 0, { stack: 'encoder' }), site(1, 0), site(2, 0, { kind: 'cross' })], missing: [] }
  assert.deepEqual(address(hybrid.sites[1], hybrid), { layer: 11, site: null })
  assert.deepEqual(address(both.sites[2], both), { layer: 0, site: 2 })
  assert.deepEqual(both.sites.map((one) => shortName(one, both)), ['E0', 'L0', 'X0'])
  assert.equal(chosen({ ...EMPTY, layer: 0, site: 2 }, both).kind, 'cross')
  assert.equal(chosen({ ...EMPTY, layer: 0 }, both).site, 1)
})

test('numbers are listed as one reads them', () => {
  assert.equal(listed([3, 11, 15]), '3, 11 and 15')
  assert.equal(listed([3]), '3')
  assert.equal(listed([1, 2, 3, 4, 5, 6, 7, 8]), '1, 2, 3, 4, 5, 6 and 2 more')
})
