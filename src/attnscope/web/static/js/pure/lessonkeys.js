// The keys of the lesson's page that work in every chapter.

import { everywhere, sharedShortcut } from './keyboard.js'

/** @typedef {import("./keyboard.js").Key} Key @typedef {import("./keyboard.js").KeyList} KeyList */
/** @typedef {import("./keyboard.js").Shared|"next"|"previous"} LessonAction */

/** @type {Record<string, LessonAction>} */
const ACTIONS = { n: 'next', p: 'previous' }

/** @param {Key} event @returns {LessonAction|null} */
export function lessonShortcut(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null
  return ACTIONS[event.key] ?? sharedShortcut(event, false)
}

/** @type {KeyList} */
export const LESSON_KEYS = [everywhere({ keys: ['n', 'p'], does: 'next and previous chapter' })]
