// A token as a chip: its own text isolated in its own direction, and marks for what cannot be seen.

import { h } from '../dom.js'
import { parts } from '../pure/marks.js'

/** @typedef {import("../types.js").Token} Token */

/** What stands on the chip. @param {Token} token */
export function pieces(token) {
  return parts(token).map(({ kind, text }) => (kind === 'text' ? h('bdi', {}, text) : h('span', { class: kind }, text)))
}

/** A chip that only shows. @param {Token} token */
export const chip = (token) => h('span', { class: 'tok still' }, ...pieces(token))
