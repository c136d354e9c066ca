import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EMPTY, format, parse } from '../../src/attnscope/web/static/js/pure/urlstate.js'

test('an empty query is the empty state and back', () => {
  assert.deepEqual(parse(''), { ...EMPTY })
  assert.equal(format(EMPTY), '')
})

test('every state comes back from its own link', () => {
  const states = [
    { ...EMPTY, model: 'embedded', text: 'ROMEO:\nBut, soft! what light', layer: 2, head: 1, i: 27, j: 21 },
    { ...EMPTY, text: '', scale: 'rank', way: 'by', hide: true, theme: 'dark' },
    { ...EMPTY, text: 'שלום & <b>100%</b> +1 🙂\t#', site: 41, layer: 0, head: 0, i: 0, j: 0 },
    { ...EMPTY, model: '/home/someone/a folder/model', scale: 'log', theme: 'light' },
  ]
  for (const state of states) assert.deepEqual(parse(format(state)), state)
})

test('an empty text is not the same as none', () => {
  assert.equal(parse('?text=').text, '')
  assert.equal(parse('?model=x').text, null)
})

test('a mistyped link opens with what can be read', () => {
  const state = parse('?layer=two&head=-1&i=1e3&j=4&scale=cubic&way=up&hide=yes&theme=pink')
  assert.deepEqual(state, { ...EMPTY, j: 4 })
})
