// What a reader types: a number or a word, or the reason why it cannot be one.

import { MINUS } from '../number.js'

const LARGEST = 1_000_000
const CHARACTERS = 24
// not to be seen, or it turns the line round: no part of a word
const UNFIT = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069\ufeff]/u
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const GROUPED = /^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$/

/** @param {string} text @returns {{value: number}|{problem: string}} */
export function readNumber(text) {
  const plain = text.trim().replaceAll(MINUS, '-')
  if (!plain) return { problem: 'An empty cell. Type a number.' }
  if (/^[+-]?(∞|inf(inity)?)$/i.test(plain)) return { problem: 'Infinity is no number to calculate with. Type a finite one.' }
  const digits = GROUPED.test(plain) ? plain.replaceAll(',', '') : plain.replace(',', '.')
  if (!NUMBER.test(digits)) return { problem: `“${shortened(text.trim())}” is not a number. Type digits, such as 2, −1 or .5.` }
  const value = Number(digits)
  if (Math.abs(value) > LARGEST) return { problem: 'Too large. Type a number from −1,000,000 to 1,000,000.' }
  return { value: value + 0 } // no −0
}

/** A word in its composed form, so that two that look alike are one. @param {string} text @returns {{word: string}|{problem: string}} */
export function readWord(text) {
  const word = text.trim().normalize('NFC')
  const size = [...word].length
  if (!size) return { problem: 'An empty word. Type at least one character.' }
  if (size > CHARACTERS) return { problem: `A word of ${size} characters. Type at most ${CHARACTERS}.` }
  if (!isWord(word)) return { problem: 'Some characters of this word cannot be shown. Type letters, digits or signs.' }
  return { word }
}

/** Whether a word can be on a sheet as it is. @param {string} word */
export function isWord(word) {
  const size = [...word].length
  const shows = /[^\p{Cf}\p{Zs}]/u.test(word) && !/^\p{Zs}|\p{Zs}$/u.test(word)
  return size >= 1 && size <= CHARACTERS && shows && !UNFIT.test(word)
}

/** @param {number} x */
export const isNumber = (x) => typeof x === 'number' && Math.abs(x) <= LARGEST

/** @param {string} text */
const shortened = (text) => ([...text].length > 20 ? [...text].slice(0, 19).join('') + '…' : text)
