// Bytes as one reads them, in the largest unit of 1,024 that keeps a whole number before it.

import { count, fixed } from './number.js'

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB']
const MB = 2 ** 20

/** 16384 is "16 KB", 16896 "16.5 KB", 68719476736 "64 GB". @param {number} bytes */
export function size(bytes) {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10))
  const amount = fixed(bytes / 1024 ** power, 1).replace(/\.0$/, '')
  return `${amount} ${UNITS[power]}`
}

/** "65,536 MB = 64 GB"; in one unit where MB is the unit or too large. @param {number} bytes */
export const inMegabytes = (bytes) => (bytes >= 1024 * MB ? `${count(bytes / MB)} MB = ${size(bytes)}` : size(bytes))

/** Seconds with three digits that count: .0145, .243, 3.42, 12.5. @param {number} x */
export const seconds = (x) => fixed(x, x < 0.1 ? 4 : x < 1 ? 3 : x < 10 ? 2 : 1)
