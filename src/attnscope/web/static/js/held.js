// The numbers of a run as the views ask for them, out of the page itself: nothing is on its way, nothing can fail to come.

import { cut } from './numbers.js'
import { MOST_CELLS } from './pure/layout.js'
import { amongAll, blockIn, numbersIn, pictureIn, seenIn } from './pure/held.js'

/** @typedef {import("./types.js").Result} Result @typedef {import("./types.js").Span} Span @typedef {import("./types.js").Block} Block @typedef {import("./numbers.js").Head} Head */
/** @typedef {import("./pure/held.js").Seen} Seen */
/** @typedef {{site: number, head: number, seen: number, values: string, entropy: string, largest: string, received: string, sink?: string, length?: string}} HeldHead as it stands in the page: base64 */
/** @typedef {{result: Result, heads: HeldHead[], seen: string[], rows: [number, number][]}} HeldRun rows: of each site, those that are here */
/** @typedef {{values: Float32Array, seen: Seen, made: Map<string, any>, told: HeldHead}} Opened made: parts that were asked for: the same part is the same object */

const SIDE = 64 // cells of a small picture
const NEVER = /** @type {undefined} */ (undefined)

/** @param {HeldRun} held @returns {ReturnType<import("./numbers.js").numbersOf> & {thumbnails: () => Block}} */
export function heldNumbers({ result, heads, seen, rows }) {
  const places = new Map(heads.map((told) => [`${told.site} ${told.head}`, told]))
  /** @type {Map<HeldHead, Opened>} */
  const opened = new Map()
  /** @type {Map<string, Seen>} */
  const read = new Map()

  /** @param {HeldHead} told @returns {Opened} */
  function open(told) {
    const known = opened.get(told)
    if (known) return known
    const [first, end] = rows[told.site]
    const name = `${told.seen} ${first} ${end}`
    const runs = read.get(name) ?? seenIn(seen[told.seen], first, end)
    read.set(name, runs)
    const entry = { values: numbersIn(told.values), seen: runs, made: new Map(), told }
    opened.set(told, entry)
    return entry
  }

  /** @template T @param {Head} of @param {string} name @param {(head: Opened) => T} make @returns {T|undefined} */
  function part({ site, head }, name, make) {
    const told = places.get(`${site.site} ${head}`)
    if (!told) return undefined
    const entry = open(told)
    if (!entry.made.has(name)) entry.made.set(name, make(entry))
    return entry.made.get(name)
  }

  /** @param {Head} of @param {Span} down @param {Span} across @returns {Float32Array|undefined} */
  const block = (of, down, across) => part(of, `block ${down.start} ${down.size} ${across.start} ${across.size}`, ({ values, seen: runs }) => blockIn(values, runs, down, across))
  /** @param {number} size @returns {Span} */
  const all = (size) => ({ start: 0, size })

  /** @param {Head} of */
  function whole(of) {
    const { site } = of
    const [first, end] = rows[site.site]
    const here = first === 0 && end === site.tq && site.tq <= MOST_CELLS && site.tk <= MOST_CELLS
    return here ? block(of, all(site.tq), all(site.tk)) : undefined
  }

  return {
    whole,
    block: (of, down, across) => {
      const grid = whole(of)
      return grid ? part(of, `cut ${down.start} ${down.size} ${across.start} ${across.size}`, () => cut(grid, of.site.tk, down, across)) : block(of, down, across)
    },
    row: (of, i) => block(of, { start: i, size: 1 }, all(of.site.tk)),
    column: (of, j) => block(of, all(of.site.tq), { start: j, size: 1 }),
    sides: (of) => part(of, 'sides', ({ told, seen: { first } }) => {
      const along = (/** @type {string} */ text) => amongAll(numbersIn(text), first, of.site.tq)
      /** @type {import("./types.js").Sides} */
      const sides = { entropy: along(told.entropy), largest: along(told.largest), received: numbersIn(told.received) }
      if (told.sink !== undefined) sides.sink = along(told.sink)
      if (told.length !== undefined) sides.length = numbersIn(told.length)
      return sides
    }),
    cell: () => NEVER,
    next: () => NEVER,
    problem: () => null,
    thumbnails: () => thumbnails(result, (site, head) => {
      const told = places.get(`${site} ${head}`)
      return told ? open(told) : null
    }),
  }
}

/** Every head in order of sites; sets what each site says of its picture. @param {Result} result @param {(site: number, head: number) => Opened|null} head @returns {Block} */
function thumbnails({ sites }, head) {
  for (const site of sites) {
    const step = Math.ceil(Math.max(site.tq, site.tk) / SIDE)
    if (!site.not_drawn) site.picture = [Math.ceil(site.tq / step), Math.ceil(site.tk / step)]
  }
  const [down, across] = [0, 1].map((axis) => Math.max(1, ...sites.map((site) => site.picture[axis])))
  const shape = [sites.reduce((sum, site) => sum + site.heads, 0), down, across]
  const values = new Float32Array(shape[0] * down * across).fill(-1)
  let at = 0
  for (const site of sites) {
    for (let number = 0; number < site.heads; number++, at++) {
      const found = head(site.site, number)
      if (!found) continue
      const step = Math.ceil(Math.max(site.tq, site.tk) / SIDE)
      const small = pictureIn(found.values, found.seen, { rows: site.tq, columns: site.tk }, step)
      const wide = site.picture[1]
      for (let row = 0; row < site.picture[0]; row++) values.set(small.subarray(row * wide, (row + 1) * wide), (at * down + row) * across)
    }
  }
  return { values, shape }
}
