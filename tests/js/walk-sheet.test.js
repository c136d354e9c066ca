import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { queryToSheet, sheetToQuery } from '../../src/attnscope/web/static/js/pure/walk/address.js'
import { readSheet, writeSheet } from '../../src/attnscope/web/static/js/pure/walk/file.js'
import { exact } from '../../src/attnscope/web/static/js/pure/walk/format.js'
import { readCount, readNumber } from '../../src/attnscope/web/static/js/pure/walk/read.js'
import { readWord } from '../../src/attnscope/web/static/js/pure/walk/word.js'
import { attached, isEdited, withCount, withDepth, withMask, withNumber, withScale, withWord } from '../../src/attnscope/web/static/js/pure/walk/sheet.js'
import { Trail } from '../../src/attnscope/web/static/js/pure/walk/trail.js'
import { evaluate } from '../../src/attnscope/web/static/js/pure/walk/values.js'

const { recipe, sheet: fresh } = JSON.parse(readFileSync(new URL('walk.json', import.meta.url), 'utf8'))
const WRONG = JSON.parse(readFileSync(new URL('../lesson/walk/wrong_sheets.json', import.meta.url), 'utf8'))
const KEY = { grid: 'k', at: [1, 0] }
const frozen = (x) => (typeof x === 'object' && x ? Object.freeze(Object.values(x).forEach(frozen) ?? x) : x)
frozen(fresh)

test('an edited number of q, k or v is detached, and attached again', () => {
  const edited = withNumber(withNumber(fresh, KEY, 7), KEY, 8)
  assert.deepEqual(edited.edited.k, [[1, 0, 8]])
  assert.ok(isEdited(edited, KEY, fresh))
  assert.ok(!isEdited(edited, { grid: 'k', at: [1, 1] }, fresh))
  assert.equal(evaluate(recipe, edited).at('k', 1, 0), 8)
  assert.equal(evaluate(recipe, withNumber(edited, { grid: 'wk', at: [1, 0] }, 5)).at('k', 1, 0), 8)
  assert.deepEqual(attached(edited, KEY), fresh)
})

test('an edited number of x or a matrix recomputes what follows it', () => {
  const edited = withNumber(fresh, { grid: 'x', at: [1, 1] }, 3)
  assert.equal(evaluate(recipe, edited).at('k', 1, 0), 6)
  assert.ok(isEdited(edited, { grid: 'x', at: [1, 1] }, fresh))
  assert.ok(!isEdited(edited, { grid: 'x', at: [0, 0] }, fresh))
})

test('a word that is there already shares its row, and one that comes back has a row again', () => {
  const twice = withWord(fresh, 2, 'cat', recipe)
  assert.deepEqual(twice.words, ['the', 'cat', 'cat', 'down'])
  assert.equal(twice.x.length, 3)
  assert.equal(twice.wq.length, 3)
  const values = evaluate(recipe, twice)
  assert.deepEqual([values.at('k', 1, 0), values.at('k', 2, 0)], [2, 2])
  assert.deepEqual(values.labels, ['the', 'the first cat', 'the second cat', 'down'])
  const back = withWord(twice, 2, 'sat', recipe)
  assert.equal(back.x.length, 4)
  assert.equal(evaluate(recipe, back).distinct, 4)
})

test('a word spelt anew keeps its numbers', () => {
  const other = withWord(withNumber(fresh, KEY, 7), 1, 'dog', recipe)
  assert.deepEqual({ ...other, words: fresh.words }, withNumber(fresh, KEY, 7))
})

test('2 to 8 words: the lesson’s sentence goes on, each new word with a column of x and rows of its own', () => {
  const eight = withCount(fresh, 8, recipe)
  assert.equal(eight.words.join(' '), 'the cat sat down on a warm mat')
  assert.deepEqual(eight.x, eight.x.map((row, r) => row.map((_, a) => Number(r === a))))
  assert.deepEqual(eight.wk, recipe.spare.wk)
  assert.deepEqual(withCount(eight, 4, recipe), fresh)
  const two = withCount(fresh, 2, recipe)
  assert.deepEqual([two.words, two.x, two.wq], [['the', 'cat'], [[1, 0], [0, 1]], [[0, 1], [0, 1]]])
  assert.deepEqual(withCount(two, 4, recipe), fresh)
})

test('a word that the reader has used already is not added again', () => {
  const three = withCount(withWord(withCount(fresh, 2, recipe), 0, 'sat', recipe), 3, recipe)
  assert.equal(new Set(three.words).size, 3)
})

test('fewer words leave no edited cell behind, and fewer columns neither', () => {
  const edited = withNumber(withNumber(fresh, { grid: 'v', at: [3, 1] }, 9), KEY, 7)
  assert.deepEqual(withCount(edited, 2, recipe).edited, { q: [], k: [[1, 0, 7]], v: [] })
  assert.deepEqual(withDepth(edited, 1).edited, { q: [], k: [[1, 0, 7]], v: [] })
})

test('d from 1 to 8: columns of zeros come, and change no product', () => {
  const deep = withDepth(fresh, 8)
  assert.deepEqual(deep.wq[2], [2, 0, 0, 0, 0, 0, 0, 0])
  assert.equal(evaluate(recipe, deep).at('products', 2, 1), 4)
  assert.deepEqual(withDepth(deep, 2), fresh)
  assert.deepEqual(withDepth(fresh, 1).wq, [[0], [0], [2], [2]])
})

test('whatever is done to the words, every sheet can be saved and opened', () => {
  let seed = 1
  const random = (n) => (seed = (seed * 16807) % 2147483647) % n
  let sheet = fresh
  for (let turn = 0; turn < 600; turn++) {
    const n = sheet.words.length
    const refs = [{ grid: 'x', at: [random(sheet.x.length), random(sheet.x[0].length)] }, { grid: 'k', at: [random(n), random(sheet.wq[0].length)] }]
    const ways = [
      () => withWord(sheet, random(n), ['the', 'dog', 'cat', 'a b', '_*', 'é'][random(6)], recipe),
      () => withCount(sheet, 2 + random(7), recipe), () => withDepth(sheet, 1 + random(8)),
      () => withNumber(sheet, refs[random(2)], random(5) - 2.5), () => withMask(sheet, !sheet.causal), () => withScale(sheet, !sheet.scale),
    ]
    sheet = frozen(ways[random(ways.length)]())
    assert.deepEqual(readSheet(writeSheet(sheet)), { sheet })
    assert.deepEqual(queryToSheet(sheetToQuery(sheet, fresh), fresh, recipe), sheet)
    assert.ok(sheet.x.length === new Set(sheet.words).size && sheet.x[0].length <= 8)
    evaluate(recipe, sheet)
  }
})

test('the address holds only what differs, in a form that can be read', () => {
  assert.deepEqual(sheetToQuery(fresh, fresh), {})
  const edited = withNumber(withNumber(withMask(fresh, true), KEY, 0), { grid: 'k', at: [1, 1] }, 2)
  assert.deepEqual(sheetToQuery(edited, fresh), { edit: 'k_1_0_0*k_1_1_2', mask: 'causal' })
  assert.deepEqual(sheetToQuery(withWord(withScale(fresh, false), 1, 'New_York dog', recipe), fresh), { words: 'the_New*uYork dog_sat_down', scale: 'off' })
  assert.deepEqual(sheetToQuery(withNumber(fresh, { grid: 'wk', at: [2, 0] }, -0.25), fresh), { wk: '0_1*2_0*-.25_.5*0_.5' })
})

test('an address that cannot be read opens the lesson’s own example', () => {
  for (const query of [{ words: 'one' }, { words: 'a_b_c_d_e_f_g_h_i' }, { words: 'a__b' }, { wk: '1_2' }, { wk: '0_x*1_1*1_1*1_1' }, { edit: 'k_9_0_1' }, { edit: 'k_1_0_Infinity' }, { edit: 'k_1_0' }, { mask: 'x' }, { scale: '' }]) {
    assert.deepEqual(queryToSheet(query, fresh, recipe), fresh, JSON.stringify(query))
  }
  assert.deepEqual(queryToSheet({ edit: 'k_9_0_1', mask: 'causal' }, fresh, recipe), withMask(fresh, true))
  assert.deepEqual(queryToSheet({ words: 'a_dog_a_day' }, fresh, recipe).x.length, 3)
  assert.equal(queryToSheet({ words: 'caf\u00e9_cafe\u0301' }, fresh, recipe).x.length, 1)
})

test('a number may be typed as people type numbers', () => {
  for (const [text, value] of [['2', 2], [' .5 ', 0.5], ['−1.5', -1.5], ['-0', 0], ['1e3', 1000], ['1e−3', 0.001], [',5', 0.5], ['0,25', 0.25], ['1,000', 1000], ['−1,000,000', -1e6], ['+3', 3], ['2.', 2]]) {
    assert.deepEqual(readNumber(text), { value }, text)
    assert.ok(!Object.is(readNumber(text).value, -0))
  }
  for (const x of [1 / 3, -0.1, 1e-7, 999999.5]) assert.deepEqual(readNumber(exact(x)), { value: x })
})

test('what is no number is refused with a reason', () => {
  for (const text of ['', ' ', 'x', '1x', '1.2.3', '--1', '∞', '-inf', 'Infinity', 'NaN', '1000001', '1e7', '1e999', '0x10', '1_000', '1 2', '٣']) {
    const { problem } = readNumber(text)
    assert.match(problem ?? '', /^[A-Z“].*\.$/, text)
  }
  assert.equal(readNumber('two').problem, '“two” is not a number. Type digits, such as 2, −1 or .5.')
})

test('a word is refused where it is empty, too long or cannot be seen', () => {
  assert.deepEqual(readWord('  New York '), { word: 'New York' })
  assert.deepEqual(readWord('cafe\u0301'), { word: 'café' })
  assert.deepEqual(readWord('👩‍🔬'), { word: '👩‍🔬' })
  for (const text of ['', '   ', 'x'.repeat(25), 'a\u0000b', 'a\u202eb', '\u200d', 'a\nb', '\u3164', '\u034f', '\ufffe', 'a\ue000', '\u2800']) assert.match(readWord(text).problem ?? '', /\.$/, JSON.stringify(text))
})

test('a file that is no sheet is refused with a reason', () => {
  for (const { name, with: wrong } of WRONG) assert.match(readSheet(JSON.stringify({ ...fresh, ...wrong })).problem ?? '', /\.$/, name)
  for (const text of ['', '{', '[]', '3', 'null', '{"format": "other"}', '{"format": "attnscope-walk", "version": 1}']) assert.match(readSheet(text).problem ?? '', /\.$/, text)
})

test('a file is read by people too: a row of numbers a line', () => {
  const text = writeSheet(withNumber(fresh, KEY, 7))
  assert.match(text, /"wk": \[\n {4}\[0, 1\],\n {4}\[2, 0\],/)
  assert.match(text, /"edited": \{"q": \[\], "k": \[\[1, 0, 7\]\], "v": \[\]\}/)
})

test('a count is a whole number within its limits, and its refusals speak of counts', () => {
  assert.deepEqual(readCount(' 8 ', [2, 8], 'words'), { value: 8 })
  assert.equal(readCount('many', [2, 8], 'words').problem, '“many” is no count. There can be 2 to 8 words.')
  assert.equal(readCount('', [1, 8], 'components').problem, 'An empty field. There can be 1 to 8 components.')
  for (const text of ['9', '1', '2.5', '-3']) assert.equal(readCount(text, [2, 8], 'words').problem, 'There can be 2 to 8 words.', text)
})

test('undo and redo lead back and forth, and something new ends redo', () => {
  const trail = new Trail()
  assert.equal(trail.undo('a'), undefined)
  trail.leave('a')
  trail.leave('b')
  assert.equal(trail.undo('c'), 'b')
  assert.equal(trail.undo('b'), 'a')
  assert.deepEqual([trail.undoable, trail.redoable], [false, true])
  assert.equal(trail.redo('a'), 'b')
  trail.leave('b')
  assert.deepEqual([trail.undoable, trail.redoable, trail.redo('d')], [true, false, undefined])
})
