// The whole state of Explore as the query of its address, and back.

import { SCALES } from './scale.js'
import { WORDS } from './words.js'
import { flag, oneOf, spelling } from './spelling.js'

/** @typedef {import("../types.js").State} State */

export const { empty: EMPTY, parse, format } = spelling(/** @type {import("./spelling.js").Fields<State>} */ ({
  scale: oneOf(SCALES),
  way: oneOf(['at', 'by']),
  hide: flag(false),
  words: oneOf(WORDS),
}))
