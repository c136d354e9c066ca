// What is written on a map: weights in cells, sentences for what moved.

import { count, fixed, weight } from '../number.js'

/** A number in a cell of the plane: .914, .03, 4e−6, 0; past 10, which no weight is, with fewer places. @param {number} w */
export function cellText(w) {
  if (w === 0) return '0'
  if (w >= 10) return fixed(w, w < 1000 ? 1 : 0)
  return w < 0.0005 ? fixed(w, 3) : weight(w)
}

/** "query 98,304 is, key 23,117 heron, weight .914, 75,187 back" @param {{i: number, j: number, query: string, key: string, weight: number|null, distance: string, what?: string}} cell weight under 0: not visible; null: on its way; what: it is called */
export function cellSentence({ i, j, query, key, weight: w, distance, what = 'weight' }) {
  const where = `query ${count(i)} ${query}, key ${count(j)} ${key}`.replace(/\s+/g, ' ')
  if (w === null) return where
  return w < 0 ? `${where}, not visible` : [where, `${what} ${weight(w)}`, distance].filter(Boolean).join(', ')
}

/** "rows 0 to 131,071, columns 0 to 131,071, 1 pixel = 202 × 202 cells" @param {{rows: {start: number, end: number}, columns: {start: number, end: number}}} part @param {string} pixel */
export const viewSentence = ({ rows, columns }, pixel) => `queries ${count(rows.start)} to ${count(rows.end - 1)}, keys ${count(columns.start)} to ${count(columns.end - 1)}, ${pixel}`

/** Two positions as one line: "98,304 → 23,117". @param {number} i @param {number} j */
export const pair = (i, j) => `${count(i)} → ${count(j)}`

/** A tick that leaves out what its neighbour says: "·114" after 23,113. @param {number} at @param {boolean} whole */
export const shortPosition = (at, whole) => (whole || at < 1000 ? count(at) : `·${String(at % 1000).padStart(3, '0')}`)
