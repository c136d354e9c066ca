// How numbers are written: no leading zero, a true minus, thousands commas, and never a row of zeros for what is not zero.

export const MINUS = '−'

/**
 * x with `places` decimals: .2389, −1.4315, 1,204.5000. Exactly zero is "0"; what would round to zero is "3e−5".
 * @param {number} x @param {number} places @returns {string}
 */
export function fixed(x, places) {
  if (Number.isNaN(x)) return 'not a number'
  if (x === 0) return '0'
  const sign = x < 0 ? MINUS : ''
  const size = Math.abs(x)
  if (size === Infinity) return sign + '∞'
  const digits = size.toFixed(places)
  if (Number(digits) === 0) return sign + power(size)
  const [whole, part] = digits.split('.')
  const grouped = whole === '0' && part ? '' : thousands(whole)
  return sign + grouped + (part ? '.' + part : '')
}

/** A weight as it stands on a panel: .808, 1.000, 3e−5, 0. @param {number} w */
export const weight = (w) => fixed(w, 3)

/** A weight to seven places, for tooltips and tables. @param {number} w */
export const weight7 = (w) => fixed(w, 7)

/** A line of a receipt: four places. @param {number} x */
export const four = (x) => fixed(x, 4)

/** An entropy in nats, or an amount received: two places. @param {number} x */
export const two = (x) => fixed(x, 2)

/** A limit as it was set: 8, or 1.2. @param {number} x */
export const limit = (x) => fixed(x, 1).replace(/\.0$/, '')

/** A size alone: 3e−5, or 1.2 where no power is needed. @param {number} x */
export function small(x) {
  if (x === 0 || !Number.isFinite(x)) return fixed(x, 1)
  return Math.abs(x) >= 0.01 && Math.abs(x) < 1e5 ? fixed(x, 2) : (x < 0 ? MINUS : '') + power(Math.abs(x))
}

/** A whole number with thousands commas. @param {number} n */
export const count = (n) => (n < 0 ? MINUS : '') + thousands(String(Math.abs(Math.round(n))))

/** "1 token", "28 tokens". @param {number} n @param {string} noun */
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`

/** Numbers that JSON cannot hold arrive as words. @param {number|string|null|undefined} x @returns {number} */
export function number(x) {
  if (typeof x === 'number') return x
  if (x === '-inf') return -Infinity
  if (x === 'inf') return Infinity
  return NaN
}

/** @param {number} size */
function power(size) {
  const [digits, exponent] = size.toExponential(0).split('e')
  return `${digits}e${exponent.replace('-', MINUS).replace('+', '')}`
}

/** @param {string} whole */
function thousands(whole) {
  return whole.replace(/\B(?=(\d{3})+$)/g, ',')
}
