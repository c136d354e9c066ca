// Where the words of a sentence stand, in a line or in a column, and the arcs from one of them to the others. No document.

/** @typedef {{x: number, y: number, width: number}} Place the middle of a word's box, and its width */
/** @typedef {{places: Place[], upright: boolean, width: number, height: number, base: number}} Layout upright: words in a column; base: where arcs end */

const CHARACTER = 8.45 // px of a 14 px monospaced character
const PAD = 8
const LEAST = 34 // px, so that a number fits under a short word
const ROW = 26
export const WIDEST = 22 // px of an arc of weight 1

/** @param {string[]} words @param {number} width px there are @returns {Layout} */
export function layout(words, width) {
  const widths = words.map((word) => Math.max(LEAST, word.length * CHARACTER + PAD))
  const total = widths.reduce((sum, w) => sum + w, 0)
  const gap = Math.min(22, (width - total) / (words.length - 1))
  return gap >= 2 ? inLine(widths, gap) : inColumn(words, width)
}

/** @param {number[]} widths @param {number} gap @returns {Layout} */
function inLine(widths, gap) {
  let right = 0
  const places = widths.map((width) => {
    const x = right + width / 2
    right += width + gap
    return { x, y: 0, width }
  })
  const base = 128
  return { places: places.map((place) => ({ ...place, y: base + 18 })), upright: false, width: right - gap, height: base + 52, base }
}

/** @param {string[]} words @param {number} width @returns {Layout} */
function inColumn(words, width) {
  const widest = Math.max(...words.map((word) => word.length)) * CHARACTER + PAD
  const base = Math.max(24, Math.min(96, width - widest - 44))
  const places = words.map((_, at) => ({ x: base + 6 + widest / 2, y: ROW * (at + 0.5), width: widest }))
  return { places, upright: true, width: Math.min(width, base + widest + 50), height: ROW * words.length, base }
}

/** Half an ellipse from one word to another, above the line or left of the column. @param {Layout} laid @param {number} from @param {number} to */
export function arc({ places, upright, base }, from, to) {
  const [a, b] = [places[from], places[to]]
  if (upright) {
    const ry = Math.abs(a.y - b.y) / 2
    const rx = Math.min(base - WIDEST / 2, 8 + ry * 0.7)
    return `M${base} ${a.y}A${rx} ${ry} 0 0 ${a.y > b.y ? 1 : 0} ${base} ${b.y}`
  }
  const rx = Math.abs(a.x - b.x) / 2
  const ry = Math.min(base - WIDEST / 2, 10 + rx * 0.55)
  return `M${a.x} ${base}A${rx} ${ry} 0 0 ${a.x > b.x ? 0 : 1} ${b.x} ${base}`
}

/** px of an arc. @param {number} weight */
export const thickness = (weight) => Math.max(0.5, WIDEST * weight)
