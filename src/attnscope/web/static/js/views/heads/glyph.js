// The mark of a class, beside its word: never alone where a word has room.

import { s } from '../../dom.js'
import { GLYPHS } from '../../pure/heads/glyphs.js'

/** @param {string} name of the glyph */
export function glyph(name) {
  return s('svg', { class: 'gl', viewBox: '0 0 12 12', 'aria-hidden': 'true' }, s('path', { d: GLYPHS[name] ?? GLYPHS.none }))
}
