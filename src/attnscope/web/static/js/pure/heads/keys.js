// The keys of the page Heads.

import { everywhere, inFile } from '../keyboard.js'

/** @typedef {import("../keyboard.js").KeyList} KeyList @typedef {import("../keyboard.js").KeyLine} KeyLine */

/** @param {...KeyLine} own what only the page in the app has there @returns {KeyList[number]} */
const table = (...own) => ({
  part: 'Table',
  keys: [
    { keys: ['↑', '↓'], does: 'another row' },
    { keys: ['Home', 'End'], does: 'first and last row' },
    { keys: ['Enter'], does: 'choose the head' },
    ...own,
    { keys: ['Esc'], does: 'choose none' },
  ],
})

/** @type {KeyList[number]} */
const PICTURE = {
  part: 'Picture of two scores',
  keys: [
    { keys: ['←', '→'], does: 'the next head in the order of x' },
    { keys: ['↑', '↓'], does: 'the next head in the order of y' },
    { keys: ['Home', 'End'], does: 'first and last head in the order of x' },
    { keys: ['Enter'], does: 'choose the head' },
  ],
}

/** @type {KeyList} */
export const KEYS = [
  everywhere({ keys: ['/'], does: 'choose whose heads are shown' }, { keys: ['m'], does: 'what the scores mean' }),
  table({ keys: ['o'], does: 'open the chosen head on its best text' }),
  PICTURE,
]

/** Those of the page in a file. @type {KeyList} */
export const TABLE_KEYS = [inFile(), table(), PICTURE]

/** @typedef {"pick"|"meanings"|"open"|"none"} Action */

/** @type {Record<string, Action>} */
const ACTIONS = { '/': 'pick', m: 'meanings', o: 'open', Escape: 'none' }

/** @param {import("../keyboard.js").Key} event @param {boolean} typing @returns {Action|null} */
export const shortcut = (event, typing) => (typing || event.ctrlKey || event.metaKey || event.altKey ? null : (ACTIONS[event.key] ?? null))
