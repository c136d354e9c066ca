// What a reader types into a cell: a number, or the reason why it cannot be one.

import { MINUS } from '../number.js'

const LARGEST = 1_000_000
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

/** @param {number} x */
export const isNumber = (x) => typeof x === 'number' && Math.abs(x) <= LARGEST

/** @param {string} text */
const shortened = (text) => ([...text].length > 20 ? [...text].slice(0, 19).join('') + '…' : text)
