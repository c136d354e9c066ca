import assert from 'node:assert/strict'
import { test } from 'node:test'
import { context, find, search } from '../../src/attnscope/web/static/js/pure/map/find.js'
import { shortcut } from '../../src/attnscope/web/static/js/pure/map/keys.js'
import { distanceWords, edgeOf, marksOf, mayBeSeen } from '../../src/attnscope/web/static/js/pure/map/marks.js'
import { format, parse } from '../../src/attnscope/web/static/js/pure/map/url.js'
import { carried } from '../../src/attnscope/web/static/js/pure/spelling.js'
import { cellSentence, cellText } from '../../src/attnscope/web/static/js/pure/map/words.js'

const tokens = ['The', ' pass', 'word', ' is', ' heron', '.', '\n', 'The', ' password'].map((text, i) => ({ i, id: i, text, kind: 'text', bytes: null, continues: false, spoken: text }))
const where = { tq: 200000, tk: 200000, keys: tokens, queries: tokens }

test('every state of the map comes back from its own link', () => {
  const states = [
    { model: 'm', text: 'a & b', site: 3, layer: 1, head: 2, i: 4, j: 5, pixel: 'mean', scale: 'rank', view: { row: 1.5, col: 2, scale: 0.004 }, marks: false, list: 'all', values: true, theme: 'dark' },
    { model: null, text: null, site: null, layer: null, head: null, i: null, j: null, pixel: 'max', scale: 'log', view: null, marks: true, list: 'apart', values: false, theme: null },
  ]
  for (const state of states) assert.deepEqual(parse(format(state)), state)
})

test('a mistyped link opens with what can be read', () => {
  const state = parse('?view=1+2&pixel=median&scale=cubic&i=-4&marks=yes')
  assert.deepEqual([state.view, state.pixel, state.scale, state.i, state.marks], [null, 'max', 'log', null, true])
  assert.equal(parse('?view=0+0+0').view, null)
  assert.equal(parse('?view=0+0+1e999').view, null)
})

test('what one page knows of model, head and cell is carried to another', () => {
  assert.equal(carried('?model=m&text=a+b&layer=1&head=2&i=3&j=4&pixel=sum&values=1&view=1+2+3&scale=row&theme=dark'), '?model=m&text=a+b&layer=1&head=2&i=3&j=4&values=1&theme=dark')
  assert.equal(carried('?scale=row'), '')
})

test('"go to" reads a query, a cell and a text', () => {
  assert.deepEqual(find('98,304', where), { kind: 'cell', i: 98304, j: null })
  assert.deepEqual(find(' 98,304 → 23,117 ', where), { kind: 'cell', i: 98304, j: 23117 })
  assert.deepEqual(find('98304 23117', where), { kind: 'cell', i: 98304, j: 23117 })
  assert.deepEqual(find('12, 7', where), { kind: 'cell', i: 12, j: 7 })
  assert.equal(find('200000', where).kind, 'none')
  assert.match(find('5 200000', where).why, /the last is 199,999/)
  assert.deepEqual(find('“The”', where), { kind: 'text', hits: [{ side: 'key', first: 0, last: 0 }, { side: 'key', first: 7, last: 7 }] })
  assert.deepEqual(find('PASSWORD IS', where), { kind: 'text', hits: [{ side: 'key', first: 1, last: 3 }] })
  assert.equal(find('crane', where).kind, 'none')
  assert.equal(find('  ', where).kind, 'none')
})

test('where queries are another text than keys, both are searched', () => {
  const queries = [{ ...tokens[0], text: ' le' }, { ...tokens[0], text: ' word' }]
  const found = find('word', { ...where, queries })
  assert.deepEqual(found.hits, [{ side: 'key', first: 2, last: 2 }, { side: 'key', first: 8, last: 8 }, { side: 'query', first: 1, last: 1 }])
  assert.deepEqual(find('le', { ...where, queries }).hits, [{ side: 'query', first: 0, last: 0 }])
})

test('a text is found across tokens, and every time', () => {
  assert.deepEqual(search(tokens, 'password'), [{ first: 1, last: 2 }, { first: 8, last: 8 }])
  assert.deepEqual(search([], 'a'), [])
})

test('a token stands among its neighbours', () => {
  const { before, token, after, more } = context(tokens, 1, 2)
  assert.deepEqual([before.length, token.text, after.length, more], [1, ' pass', 2, { before: false, after: true }])
  const long = context(tokens.map((one) => ({ ...one, text: 'x'.repeat(9) })), 8)
  assert.deepEqual([long.before.length, long.more.before], [1, true]) // what stands in front never pushes the token out of its line
})

const site = { kind: 'self', tq: 10, tk: 10, offset: 0, causal: true, sight: { form: 'causal', left: null, right: null, documents: [], padding: [] } }

test('under a causal mask nothing right of the diagonal is asked for, under a window nothing left of it either', () => {
  const causal = mayBeSeen(site)
  assert.ok(causal([4, 5], [4, 5]) && !causal([4, 5], [5, 6]))
  const window = mayBeSeen({ ...site, causal: false, sight: { form: 'window', left: 2, right: 0, padding: [] } })
  assert.ok(window([4, 5], [2, 3]) && !window([4, 5], [1, 2]) && !window([4, 5], [5, 6]))
  const later = mayBeSeen({ ...site, tq: 3, offset: 7 })
  assert.ok(later([0, 1], [7, 8]) && !later([0, 1], [8, 9]))
})

test('marks tell windows, padding and what the model wrote', () => {
  const axis = { stack: 'decoder', tokens: [], generated: 6, grid: null, before: 0 }
  const marks = marksOf({ ...site, sight: { ...site.sight, left: 3, right: 0, padding: [[0, 2]] } }, { rows: axis, columns: axis })
  assert.deepEqual(marks.map(({ kind }) => kind), ['rule', 'rule', 'edge', 'pad'])
})

test('distances and cells are said', () => {
  assert.equal(distanceWords(site, 7, 3), '4 back')
  assert.equal(distanceWords(site, 3, 3), 'its own position')
  assert.equal(distanceWords(site, 3, 5), '2 ahead')
  assert.equal(distanceWords({ ...site, kind: 'cross' }, 3, 5), '')
  assert.equal(cellSentence({ i: 7, j: 3, query: ' is', key: ' heron', weight: 0.9137, distance: '4 back' }), 'query 7 is, key 3 heron, weight .914, 4 back')
  assert.equal(cellSentence({ i: 7, j: 3, query: ' is', key: ' heron', weight: 2.5, distance: '', what: 'weight times length of value' }), 'query 7 is, key 3 heron, weight times length of value 2.500')
  assert.match(cellSentence({ i: 7, j: 9, query: 'a', key: 'b', weight: -1, distance: '' }), /not visible/)
})

test('a number past 10, which no weight is, still has room in its cell', () => {
  assert.deepEqual([0.914, 1, 9.5, 27.449, 1234.5].map(cellText), ['.914', '1.000', '9.500', '27.4', '1,235'])
})

test('keys act where they are meant', () => {
  assert.equal(shortcut({ key: '+' }, { typing: false, plane: false }), 'in')
  assert.equal(shortcut({ key: 'ArrowUp' }, { typing: false, plane: false }), null)
  assert.equal(shortcut({ key: 'ArrowUp' }, { typing: false, plane: true }), 'up')
  assert.equal(shortcut({ key: 'g' }, { typing: true, plane: false }), null)
  assert.equal(shortcut({ key: 'm', ctrlKey: true }, { typing: false, plane: true }), null)
})

test('the edge of a window goes around the first cell of each row, or the last one ahead', () => {
  const rows = { start: 5, end: 7 }
  assert.deepEqual(edgeOf({ distance: 3, offset: 0 }, rows, true), [{ i: 5, j: 2 }, { i: 6, j: 2 }, { i: 6, j: 3 }, { i: 7, j: 3 }])
  assert.deepEqual(edgeOf({ distance: -2, offset: 10 }, rows, true)[0], { i: 5, j: 18 }) // row 5 stands at 15 and sees key 17
  assert.deepEqual(edgeOf({ distance: 3, offset: 0 }, rows, false), [{ i: 5, j: 2 }, { i: 7, j: 4 }])
})

test('documents are marked where they stand, chunks too, and their future is not asked for', () => {
  const axes = { rows: { tokens, generated: null }, columns: { tokens, generated: null } }
  const packed = { ...site, causal: false, sight: { ...site.sight, form: 'documents', right: 0, documents: [[0, 4], [4, 10]] } }
  assert.deepEqual(marksOf(packed, axes), [{ kind: 'document', first: 0, end: 4 }, { kind: 'document', first: 4, end: 10 }])
  assert.ok(!mayBeSeen(packed)([4, 5], [5, 6]))
  const chunks = { ...site, causal: false, sight: { ...site.sight, form: 'chunks', width: 4, padding: [[0, 1]] } }
  assert.deepEqual(marksOf(chunks, axes).filter(({ kind }) => kind === 'document').map(({ first, end }) => [first, end]), [[1, 5], [5, 9], [9, 10]])
})

test('Enter and Space are the plane’s alone', () => {
  assert.deepEqual(['Enter', ' '].map((key) => shortcut({ key }, { typing: false, plane: true })), ['fly', 'open'])
  assert.deepEqual(['Enter', ' '].map((key) => shortcut({ key }, { typing: false, plane: false })), [null, null])
})
