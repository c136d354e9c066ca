// How the walk writes its numbers: rounded half up, as a person does with a pencil. lesson/walk/writing.py does the same.

import { fixed, MINUS } from '../number.js'

/** @typedef {import("./types.js").Recipe} Recipe */

// .105 is held a little too small, and one sum of the same terms may end a bit above another: what stands on a half goes up.
const NUDGE = 1 + 2 ** -42
/** Below, two float64 paths to the same number agree in hardly a digit: written as 0. */
export const SMALLEST = 1e-300
// from here on a power of ten is read better than its digits
const LARGEST = 1e7
const SMALL = 1e-3 // and below, too

/** x as one types it, up to four places: 2, .125, −.5, 1.25e7. @param {number} x @param {number} [places] */
export const typed = (x, places = 4) => short(x, places)

/** x with all the digits that it takes to read it back: .3333333333333333, 1e−7. @param {number} x */
export const exact = (x) => (Math.abs(x) === Infinity ? fixed(x, 0) : String(x).replace(/^(-?)0\./, '$1.').replaceAll('-', MINUS).replace('+', ''))

/** x to two places, without the zeros at its end: 2.83, 1. @param {number} x */
export const two = (x) => short(x, 2)

/** x to three places, a weight's form: .808, 1.000. @param {number} x */
export const three = (x) => large(x) || fixed(nudged(x), 3)

export const weight = three

/** x to two places, and to three digits below 1, for what is divided: 16.92, .705, .00134, 1.2e−4. @param {number} x */
export function amount(x) {
  const size = Math.abs(nudged(x))
  if (size >= 1 || size === 0) return two(x)
  const sign = x < 0 ? MINUS : ''
  if (size >= SMALL) return sign + withoutZeros(size.toPrecision(3)).replace(/^0/, '')
  const [digits, exponent] = size.toExponential(1).split('e')
  return `${sign}${digits.replace(/\.0$/, '')}e${exponent.replace('-', MINUS)}`
}

/** @type {Record<string, (x: number) => string>} */
const FORMS = { typed, two, three, amount }

/** x as numbers of its grid are written. @param {Recipe} recipe @param {string} grid @param {number} x @param {string} [form] */
export const written = (recipe, grid, x, form) => FORMS[form ?? recipe.forms[grid]](x)

/**
 * x where there is little room: as its form writes it where that fits, else with fewer places, else as a power of ten, never
 * with digits cut off. What fits nowhere is as short as it can be.
 * @param {number} x @param {number} room digits there is room for @param {(x: number) => string} form
 */
export function fitted(x, room, form = typed) {
  const all = [form(x), ...[3, 2, 1, 0].map((places) => typed(x, places)), powered(x, 1), powered(x, 0)]
  return all.find((text) => breadth(text) <= room) ?? all[all.length - 1]
}

/** How many digits wide a number is: a point or a comma takes half a one. @param {string} text */
export const breadth = (text) => text.length - (text.match(/[.,]/g) ?? []).length / 2

/** x as a power of ten: 3.3e5. @param {number} x @param {number} places */
function powered(x, places) {
  const [digits, exponent] = (Math.abs(x) * NUDGE).toExponential(places).split('e')
  return `${x < 0 ? MINUS : ''}${digits.replace('.0', '')}e${Number(exponent)}`.replace('e-', `e${MINUS}`)
}

/** What `three` shows of x in [0, 1], in thousandths. @param {number} x */
export const thousandths = (x) => Math.floor(x * NUDGE * 1000 + 0.5)

/** @param {number} x @param {number} places */
function short(x, places) {
  const text = large(x) || fixed(nudged(x), places)
  return text.includes('.') && !text.includes('e') ? withoutZeros(text) : text
}

/** @param {number} x */
function large(x) {
  const size = Math.abs(x)
  if (!(size >= LARGEST && size < Infinity)) return ''
  const [digits, exponent] = (size * NUDGE).toExponential(2).split('e')
  return `${x < 0 ? MINUS : ''}${withoutZeros(digits)}e${Number(exponent)}`
}

/** @param {string} text */
const withoutZeros = (text) => text.replace(/0+$/, '').replace(/\.$/, '')

/** @param {number} x */
const nudged = (x) => (Math.abs(x) >= SMALLEST ? x * NUDGE : 0)
