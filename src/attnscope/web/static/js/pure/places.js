// What stands along the sides of a site, and which positions of it are padding. Rows and columns have tokens of their own.

/** @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Site} Site @typedef {import("../types.js").Axis} Axis @typedef {import("../types.js").Span} Span */

/** @param {Site} site @param {Result} result @returns {{rows: Axis, columns: Axis, same: boolean}} same: a row and a column of one position are one token */
export function sidesOf(site, result) {
  const [rows, columns] = [result.places[site.rows], result.places[site.columns]]
  return { rows, columns, same: site.rows === site.columns }
}

/** What a run without a chosen site shows: the columns of its first. @param {Result} result @returns {Axis|null} */
export function firstAxis(result) {
  const [site] = result.sites
  return site ? result.places[site.columns] : null
}

/** "6 of 26 given, 20 written by the model"; "" where the model wrote none. @param {Axis} axis @param {(n: number) => string} count */
export function writtenWords(axis, count) {
  if (axis.generated === null) return ''
  const all = axis.tokens.length
  return `from ${count(axis.generated)} on, ${count(all - axis.generated)} of ${count(all)} were written by the model`
}

/** Whether a column is padding. @param {Site} site @param {number} column */
export const isPadding = (site, column) => site.sight.padding.some(([first, end]) => column >= first && column < end)

/** Whether a row stands for padding: its own position is a column that no row sees. @param {Site} site @param {number} row */
export const isPaddedRow = (site, row) => site.kind === 'self' && isPadding(site, row + (site.offset ?? 0))

/** The parts of a span that are padding, as offsets from its beginning. @param {Span} span @param {(at: number) => boolean} padded @returns {{start: number, size: number}[]} */
export function paddedParts(span, padded) {
  /** @type {{start: number, size: number}[]} */
  const out = []
  for (let k = 0; k < span.size; k++) {
    if (!padded(span.start + k)) continue
    const last = out[out.length - 1]
    if (last && last.start + last.size === k) last.size++
    else out.push({ start: k, size: 1 })
  }
  return out
}

/** The stacks that have attention here, in the order in which a model runs them. @param {Result} result @returns {import("../types.js").Group[]} */
export function groupsOf(result) {
  const there = new Set(result.sites.map(groupOf))
  return /** @type {import("../types.js").Group[]} */ (['encoder', 'decoder', 'cross']).filter((group) => there.has(group))
}

/** @param {Site} site @returns {import("../types.js").Group} */
export const groupOf = (site) => (site.kind === 'cross' ? 'cross' : site.stack)

/** The query heads that share the key head of one of them. @param {Site} site @param {number} head @returns {{key: number, heads: number[]}|null} null where each has its own */
export function sharing(site, head) {
  const group = Math.floor(site.heads / Math.max(1, site.key_heads))
  if (group < 2) return null
  const key = Math.floor(head / group)
  return { key, heads: Array.from({ length: group }, (_, at) => key * group + at) }
}
