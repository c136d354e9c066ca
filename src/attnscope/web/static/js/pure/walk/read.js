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

/**
 * How many there are to be of something.
 * @param {string} text @param {[number, number]} limits @param {string} noun what is counted, as more than one @returns {{value: number}|{problem: string}}
 */
export function readCount(text, [least, most], noun) {
  const range = `There can be ${least} to ${most} ${noun}.`
  const found = readNumber(text)
  if ('problem' in found) return { problem: text.trim() ? `“${shortened(text.trim())}” is no count. ${range}` : `An empty field. ${range}` }
  return Number.isInteger(found.value) && found.value >= least && found.value <= most ? found : { problem: range }
}

/** @param {number} x */
export const isNumber = (x) => typeof x === 'number' && Math.abs(x) <= LARGEST

/** @param {string} text */
const shortened = (text) => ([...text].length > 20 ? [...text].slice(0, 19).join('') + '…' : text)
