// Tiles of a map: fetched when the plane shows them, nearest first, given up when it no longer does, kept while they are likely to come back.

import { asProblem } from './api.js'
import { nameOf } from './pure/map/view.js'

const MOST = 160 // tiles; one holds three planes of 256 x 256 numbers, so 126 MB at the very most
const AT_ONCE = 4 // requests; the server has as many hands

/** @typedef {import("./pure/map/view.js").Address} Address @typedef {import("./pure/map/paint.js").Reduction} Reduction */
/** Planes of one shape; a tile of single cells has one plane for all three. @typedef {{planes: Record<Reduction, Float32Array>, rows: number, columns: number}} Loaded */

/**
 * @param {(tile: Address, signal: AbortSignal) => Promise<Loaded>} load
 * @param {() => void} arrived called after any tile came, or was refused
 */
export function createTiles(load, arrived) {
  /** @type {Map<string, Loaded>} least recently used first */ const kept = new Map()
  /** @type {Map<string, AbortController>} */ const coming = new Map()
  /** @type {Map<string, import("./api.js").ApiError>} */ const refused = new Map()
  /** @type {Address[]} */ let queue = []
  /** @type {Set<string>} */ let wanted = new Set()

  /** @param {Address} tile */
  async function fetchOne(tile) {
    const name = nameOf(tile)
    const control = new AbortController()
    coming.set(name, control)
    try {
      const loaded = await load(tile, control.signal)
      if (control.signal.aborted) return
      kept.set(name, loaded)
      for (const oldest of kept.keys()) {
        if (kept.size <= MOST) break
        if (oldest !== '0/0/0' && !wanted.has(oldest)) kept.delete(oldest)
      }
    } catch (error) {
      if (!control.signal.aborted) refused.set(name, asProblem(error))
    } finally {
      if (coming.get(name) === control) coming.delete(name)
      if (!control.signal.aborted) arrived()
      next()
    }
  }

  function next() {
    while (queue.length && coming.size < AT_ONCE) fetchOne(/** @type {Address} */ (queue.shift()))
  }

  return {
    /** @param {Address} tile @returns {Loaded|undefined} */
    get(tile) {
      const name = nameOf(tile)
      const found = kept.get(name)
      if (found) {
        kept.delete(name)
        kept.set(name, found)
      }
      return found
    },
    /** Says which tiles are looked at now, the most wanted first: what else is under way is given up. @param {Address[]} tiles */
    want(tiles) {
      wanted = new Set(tiles.map(nameOf))
      for (const [name, control] of coming) {
        if (wanted.has(name)) continue
        control.abort()
        coming.delete(name)
      }
      queue = tiles.filter((tile) => !kept.has(nameOf(tile)) && !coming.has(nameOf(tile)) && !refused.has(nameOf(tile)))
      next()
    },
    /** How many tiles are on their way or wait for it. */
    awaited: () => coming.size + queue.length,
    /** What the first refused tile was refused with. */
    problem: () => refused.values().next().value ?? null,
    /** Asks again for what was refused. */
    retry: () => refused.clear(),
    stop() {
      queue = []
      for (const control of coming.values()) control.abort()
      coming.clear()
    },
  }
}
