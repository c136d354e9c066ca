// The keys of the lesson's page that work in every chapter.

/** @typedef {import("./keyboard.js").Key} Key @typedef {import("./keyboard.js").KeyList} KeyList */
/** @typedef {"copy"|"theme"|"keys"|"next"|"previous"} LessonAction */

/** @type {Record<string, LessonAction>} */
const ACTIONS = { c: 'copy', d: 'theme', '?': 'keys', n: 'next', p: 'previous' }

/** @param {Key} event @returns {LessonAction|null} */
export function lessonShortcut(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null
  return ACTIONS[event.key] ?? null
}

/** @type {KeyList} */
export const LESSON_KEYS = [
  {
    part: 'Everywhere',
    keys: [
      { keys: ['Tab'], does: 'next part of the page' },
      { keys: ['n', 'p'], does: 'next and previous chapter' },
      { keys: ['c'], does: 'copy the link to this view' },
      { keys: ['d'], does: 'light or dark' },
      { keys: ['?'], does: 'these keys' },
    ],
  },
]
