import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chapterShortcut } from '../../src/attnscope/web/static/js/pure/lessonkeys.js'
import { format, parse, patched } from '../../src/attnscope/web/static/js/pure/lessonurl.js'

test('a place in the lesson comes back from its address', () => {
  const place = { chapter: 2, theme: /** @type {const} */ ('dark'), own: { step: '29', q: '2', mask: 'causal', edit: 'k_1_0_-1.5*k_1_1_2', words: 'the_dög_a+b_c&d' } }
  assert.deepEqual(parse(format(place)), place)
})

test('an address that names no chapter, or none that could be one, leaves it open', () => {
  for (const search of ['', '?', '?chapter=', '?chapter=two', '?chapter=-1', '?chapter=1234', '?chapter=2.5']) assert.equal(parse(search).chapter, null, search)
  assert.deepEqual(parse('?chapter=11&theme=pink&x=1'), { chapter: 11, theme: null, own: { x: '1' } })
})

test('an address is readable and leaves out what is at its default', () => {
  assert.equal(format({ chapter: 2, theme: null, own: { step: '29', at: '1,2' } }), '?chapter=2&step=29&at=1,2')
  assert.equal(format({ chapter: null, theme: null, own: {} }), '')
})

test('a patch changes and takes out, and leaves the rest', () => {
  const own = { a: '1', b: '2' }
  assert.deepEqual(patched(own, { a: null, c: '3' }), { b: '2', c: '3' })
  assert.deepEqual(own, { a: '1', b: '2' })
})

test('the keys of every chapter leave those of the browser alone', () => {
  assert.equal(chapterShortcut({ key: 'n' }), 1)
  assert.equal(chapterShortcut({ key: 'p', ctrlKey: true }), 0)
  assert.equal(chapterShortcut({ key: 'ArrowRight' }), 0)
})
