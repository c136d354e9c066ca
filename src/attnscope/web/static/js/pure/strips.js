// The way through the heads as strips: a strip is as long as it has numbers, cut into its heads. No document.

/** @typedef {{id: string, text: string, says: string, axes: string[], shape: number[], groups: number, parts: number, width: number}} Stage */
/** @typedef {{x: number, width: number, head: number|null, group: number}} Part head: null where the strip is whole */
/** @typedef {{stage: Stage, top: number, parts: Part[]}} Strip */
/** @typedef {{strips: Strip[], width: number, height: number, row: number, left: number, narrow: boolean}} Laid left: where strips begin */

export const HIGH = 26 // px of a strip
const NAMES = 132 // px for the names at the left
const APART = 12 // px between q, k and v
const BETWEEN = 3 // px between heads that are not joined

/** @param {Stage[]} stages @param {number} total numbers of the widest single strip @param {number} width px there are @returns {Laid} */
export function layStrips(stages, total, width) {
  const narrow = width < 560
  const left = narrow ? 0 : NAMES
  const row = narrow ? 62 : 84
  const room = Math.min(width - left, 720)
  const groups = Math.max(...stages.map((stage) => stage.groups))
  const heads = Math.max(...stages.map((stage) => stage.parts))
  const scale = (room - (groups - 1) * APART - groups * (heads - 1) * BETWEEN) / (groups * total)
  const strips = stages.map((stage, at) => ({ stage, top: at * row + (narrow ? 22 : 8), parts: partsOf(stage, scale, left + room / 2) }))
  return { strips, width, height: stages.length * row - (narrow ? 10 : 30), row, left, narrow }
}

/** @param {Stage} stage @param {number} scale px of a number @param {number} middle @returns {Part[]} */
function partsOf({ id, groups, parts, width }, scale, middle) {
  const apart = id === 'joined' ? 0 : BETWEEN
  const group = parts * width * scale + (parts - 1) * apart
  const start = middle - (groups * group + (groups - 1) * APART) / 2
  return Array.from({ length: groups * parts }, (_, k) => {
    const [g, head] = [Math.floor(k / parts), k % parts]
    return { x: start + g * (group + APART) + head * (width * scale + apart), width: width * scale, head: parts > 1 ? head : null, group: g }
  })
}

/**
 * What a head's numbers are made of, as the outline of a band from one strip down to the next. Of a whole strip the head's own
 * slice is meant where `sliced` says so.
 * @param {Laid} laid @param {number} head @param {number} heads @returns {string[]} paths
 */
export function bands({ strips }, head, heads) {
  const of = Object.fromEntries(strips.map((strip) => [strip.stage.id, strip]))
  const slice = (/** @type {Part} */ part) => ({ x: part.x + (head * part.width) / heads, width: part.width / heads })
  const own = (/** @type {string} */ id) => of[id].parts.filter((part) => part.head === head)
  const path = (/** @type {Strip} */ a, /** @type {{x: number, width: number}} */ up, /** @type {Strip} */ b, /** @type {{x: number, width: number}} */ down) =>
    `M${up.x} ${a.top + HIGH}H${up.x + up.width}L${down.x + down.width} ${b.top}H${down.x}Z`
  return [
    ...of.qkv.parts.map((part) => path(of.x, of.x.parts[0], of.qkv, slice(part))),
    ...of.qkv.parts.map((part, at) => path(of.qkv, slice(part), of.split, own('split')[at])),
    ...own('split').slice(0, 2).map((part) => path(of.split, part, of.weights, own('weights')[0])),
    path(of.split, own('split')[2], of.outs, own('outs')[0]),
    path(of.weights, own('weights')[0], of.outs, own('outs')[0]),
    path(of.outs, own('outs')[0], of.joined, own('joined')[0]),
    path(of.joined, own('joined')[0], of.out, of.out.parts[0]),
  ]
}
