// The keys of the lesson's page that work in every chapter.

import { everywhere } from './keyboard.js'

/** @typedef {import("./keyboard.js").Key} Key @typedef {import("./keyboard.js").KeyList} KeyList */

/** @type {Record<string, number>} */
const WAYS = { n: 1, p: -1 }

/** How many chapters a key goes on. @param {Key} event */
export const chapterShortcut = ({ key, ctrlKey, metaKey, altKey }) => (ctrlKey || metaKey || altKey ? 0 : (WAYS[key] ?? 0))

/** @type {KeyList} */
export const LESSON_KEYS = [everywhere({ keys: ['n', 'p'], does: 'next and previous chapter' })]
