// From point to point of a scatter by key: left and right in the order of x, up and down in the order of y, so each is reached.

/** @typedef {{x: number, y: number}} Point */

/** The point that a key leads to, null for a key that is none of these. @param {import("../keyboard.js").Key} event @param {Point[]} points @param {number} at @returns {number|null} */
export function nextPoint({ key, ctrlKey, metaKey, altKey }, points, at) {
  if (ctrlKey || metaKey || altKey) return null
  const along = key === 'ArrowUp' || key === 'ArrowDown' ? 'y' : 'x'
  const across = along === 'x' ? 'y' : 'x'
  const order = points.map((_, index) => index).sort((a, b) => points[a][along] - points[b][along] || points[a][across] - points[b][across] || a - b)
  const last = order.length - 1
  const place = order.indexOf(at)
  const steps = /** @type {Record<string, number>} */ ({ ArrowLeft: place - 1, ArrowDown: place - 1, ArrowRight: place + 1, ArrowUp: place + 1, Home: 0, End: last })
  return key in steps ? order[Math.max(0, Math.min(last, steps[key]))] ?? null : null
}
