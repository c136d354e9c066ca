// Reading a chapter's own parameters: what is missing or wrong is null, and then the default is meant.

/** A whole number from 0 up to, not including, `end`. @param {string|undefined} text @param {number} end */
export function whole(text, end) {
  return text !== undefined && /^\d{1,9}$/.test(text) && Number(text) < end ? Number(text) : null
}

/** "3.2": a row and a column. @param {string|undefined} text @param {number} rows @param {number} columns @returns {{i: number, j: number}|null} */
export function cellOf(text, rows, columns) {
  const [row, column, more] = (text ?? '').split('.')
  const [i, j] = [whole(row, rows), whole(column, columns)]
  return more === undefined && i !== null && j !== null ? { i, j } : null
}

/** A permutation as its digits: "21034". @param {string|undefined} text @param {number} count at most 10 @returns {number[]|null} */
export function orderOf(text, count) {
  const digits = [...(text ?? '')].map(Number)
  const right = digits.length === count && new Set(digits).size === count && digits.every((digit) => digit < count)
  return right ? digits : null
}

/** The words "0", "1", …: positions as they stand along a picture. @param {number} count */
export const upTo = (count) => Array.from({ length: count }, (_, at) => String(at))
