// Where the boxes of a pipeline stand, across or down, and the lines between them. No document.

/** @typedef {{id: string, text: string, says: string, column: number, row: number}} Box */
/** @typedef {{start: string, end: string, axes: string[], shape: number[]}} Arrow */
/** @typedef {{x: number, y: number, width: number, height: number}} Placed the middle of a box and its size */
/** @typedef {{across: boolean, width: number, height: number, boxes: Map<string, Placed>}} Laid */

const CHARACTER = 7.4 // px of a 13 px character, on average
const LEAST = 62 // px of an arrow, so that its shape fits over it
const LINE = 48 // px of an arrow, down
const FAN = 1.4 // the first arrows part at once: so much longer than the others, across

/** @param {Box[]} boxes @param {number} width px there are @param {number} [height] px of a box @returns {Laid} */
export function lay(boxes, width, height = 34) {
  const last = Math.max(...boxes.map((box) => box.column))
  const wide = (/** @type {Box} */ box) => Math.max(40, box.text.length * CHARACTER + 22)
  const columns = Array.from({ length: last + 1 }, (_, at) => Math.max(...boxes.filter((box) => box.column === at).map(wide)))
  const gap = Math.min(96, (width - 2 - columns.reduce((sum, w) => sum + w, 0)) / (last - 1 + FAN))
  /** @type {Map<string, Placed>} */
  const placed = new Map()
  if (gap >= LEAST) {
    let left = 1
    const middles = columns.map((w, at) => {
      const x = left + w / 2
      left += w + gap * (at ? 1 : FAN)
      return x
    })
    for (const box of boxes) placed.set(box.id, { x: middles[box.column], y: height / 2 + 3 + box.row * 76, width: wide(box), height })
    return { across: true, width: left - gap + 1, height: height + 6 + 2 * 76, boxes: placed }
  }
  const room = Math.min(width, 440)
  const side = columns[1] / 2 + 1
  for (const box of boxes) placed.set(box.id, { x: side + ((room - 2 * side) * box.row) / 2, y: height / 2 + 3 + box.column * (LINE + height), width: wide(box), height })
  return { across: false, width: room, height: height + 6 + last * (LINE + height), boxes: placed }
}

/**
 * The line of an arrow, where its shape is written, and whether the line runs level there.
 * @param {Laid} laid @param {Arrow} arrow @param {number} [along] the share of a slanting line at which its shape is written
 */
export function line({ across, boxes }, { start, end }, along = 0.5) {
  const from = /** @type {Placed} */ (boxes.get(start))
  const to = /** @type {Placed} */ (boxes.get(end))
  const long = (across ? to.x - from.x : to.y - from.y) > 260
  if (across && long) return { d: `M${from.x + from.width / 2} ${from.y}H${to.x}V${to.y + to.height / 2 + 4}`, x: (from.x + to.x) / 2, y: from.y, level: true }
  if (long) return { d: `M${from.x} ${from.y + from.height / 2}V${to.y}H${to.x + to.width / 2 + 4}`, x: from.x, y: (from.y + to.y) / 2, level: false }
  const [a, b] = across
    ? [{ x: from.x + from.width / 2, y: from.y }, { x: to.x - to.width / 2 - 4, y: to.y }]
    : [{ x: from.x, y: from.y + from.height / 2 }, { x: to.x, y: to.y - to.height / 2 - 4 }]
  return { d: `M${a.x} ${a.y}L${b.x} ${b.y}`, x: a.x + (b.x - a.x) * along, y: a.y + (b.y - a.y) * along, level: a.y === b.y }
}
