// Where a chapter's numbers come from: the server, or, in the exported file, the page itself.

import * as api from '../api.js'

/** @typedef {import("./types.js").Chapter} Chapter */

/** @param {number|string} number the script that holds a chapter in the exported file */
const held = (number) => document.querySelector(`script[type="application/json"][data-lesson="${number}"]`)

/** Whether a server is there to be asked. */
export const live = document.querySelector('script[type="application/json"][data-lesson]') === null

/** @type {Map<number, Promise<Chapter>>} */
const known = new Map()

/** The experiments of one chapter; each is asked for once. @param {number} number @returns {Promise<Chapter>} */
export function chapter(number) {
  const asked = known.get(number) ?? read(number)
  known.set(number, asked)
  asked.catch(() => known.delete(number))
  return asked
}

/** @param {number} number @returns {Promise<Chapter>} */
async function read(number) {
  if (live) return api.lesson(number)
  const script = held(number)
  if (script) return JSON.parse(script.textContent ?? '')
  throw new api.ApiError({ title: 'This chapter is not in the file', message: 'The file was written without it.', hint: 'Write it again with: attnscope lesson --export FILE.html' }, 0)
}
