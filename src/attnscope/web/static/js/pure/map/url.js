// The whole state of the map as the query of its address, and back.

import { SCALES } from '../scale.js'
import { flag, oneOf, spelling } from '../spelling.js'
import { REDUCTIONS } from './paint.js'

/** @typedef {import("../../types.js").MapState} MapState @typedef {import("./view.js").View} View */

/** "row col scale"; null is the whole grid. @type {import("../spelling.js").Field<View|null>} */
const view = {
  none: null,
  read(words) {
    const [row, col, scale, ...more] = words.split(/[ +]/).map((word) => (/^\d+(\.\d+)?(e-?\d+)?$/.test(word) ? Number(word) : NaN))
    return more.length === 0 && [row, col, scale].every(Number.isFinite) && scale > 0 ? { row, col, scale } : null
  },
  write: (at) => (at ? [at.row, at.col, at.scale].map((x) => Number(x.toPrecision(9))).join(' ') : ''),
}

export const { empty: EMPTY, parse, format } = spelling(/** @type {import("../spelling.js").Fields<MapState>} */ ({
  pixel: oneOf(REDUCTIONS),
  scale: oneOf(SCALES, 'log'),
  view,
  marks: flag(true),
  list: oneOf(['apart', 'all']),
}))
