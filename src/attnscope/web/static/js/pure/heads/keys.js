// The keys of the page Heads.

import { everywhere } from '../keyboard.js'

/** @type {import("../keyboard.js").KeyList} */
export const KEYS = [
  everywhere({ keys: ['/'], does: 'choose whose heads are shown' }, { keys: ['m'], does: 'what the scores mean' }),
  {
    part: 'Table',
    keys: [
      { keys: ['↑', '↓'], does: 'another row' },
      { keys: ['Home', 'End'], does: 'first and last row' },
      { keys: ['Enter'], does: 'choose the head' },
      { keys: ['o'], does: 'open the chosen head on its best text' },
      { keys: ['Esc'], does: 'choose none' },
    ],
  },
]

/** @typedef {"pick"|"meanings"|"open"|"none"} Action */

/** @type {Record<string, Action>} */
const ACTIONS = { '/': 'pick', m: 'meanings', o: 'open', Escape: 'none' }

/** @param {import("../keyboard.js").Key} event @param {boolean} typing @returns {Action|null} */
export const shortcut = (event, typing) => (typing || event.ctrlKey || event.metaKey || event.altKey ? null : (ACTIONS[event.key] ?? null))
