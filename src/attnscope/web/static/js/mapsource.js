// The map of one head as the page holds it: made on the server, watched while it is, its tiles and lists fetched when it is there.

import * as api from './api.js'
import { stride } from './pure/map/view.js'
import { createTiles } from './tilestore.js'

/** @typedef {import("./pure/map/view.js").Grid} Grid @typedef {import("./types.js").MapProgress} MapProgress @typedef {import("./types.js").Site} Site */
/**
 * grid is null until the server has answered; made: all tiles are there; waits: whether those of a level are not yet, single cells and the like always are. cancelled: the reader gave it up, and may have it go on; stop: nobody looks at it any more.
 * @typedef {{key: string, of: api.OfMap, site: Site, head: number, grid: Grid|null, made: boolean, waits: (level: number) => boolean, progress: MapProgress|null, problem: api.ApiError|null, cancelled: boolean, tiles: ReturnType<typeof createTiles>,
 *   stop: () => void, cancel: () => void, resume: () => void}} Source
 */

const FIRST_LOOK = 80 // ms
const LONGEST_WAIT = 500

/** What a map is called among others. @param {api.OfMap} of */
export const keyOf = ({ run, site, head, values }) => `${run} ${site} ${head}${values ? ' values' : ''}`

/** @param {api.OfMap} of @param {Site} site @param {() => void} changed @returns {Source} */
export function createSource(of, site, changed) {
  let stopped = false
  let turn = 0 // of watching: one that was cancelled says nothing any more
  /** @type {Source} */
  const source = {
    key: keyOf(of),
    of,
    site,
    head: of.head,
    grid: null,
    made: false,
    waits: (level) => !source.made && source.grid !== null && stride(source.grid, level) >= (source.progress?.kept_from ?? 1),
    progress: null,
    problem: null,
    cancelled: false,
    tiles: createTiles((tile, signal) => load(of, tile, signal), changed),
    stop() {
      stopped = true
      source.tiles.stop()
      if (!source.made) api.stopMap(of).catch(() => {})
    },
    cancel() {
      turn++
      source.cancelled = true
      api.stopMap(of).catch(() => {})
      changed()
    },
    resume() {
      Object.assign(source, { cancelled: false, problem: null })
      watch(++turn)
      changed()
    },
  }

  /** @param {number} mine */
  async function watch(mine) {
    try {
      for (let wait = FIRST_LOOK; !stopped && mine === turn; wait = Math.min(LONGEST_WAIT, wait * 1.5)) {
        const progress = await api.mapOf(of)
        if (stopped || mine !== turn) return
        source.progress = progress
        if (progress.state === 'failed' && progress.error) throw new api.ApiError(progress.error, 400)
        source.grid ??= { tq: site.tq, tk: site.tk, tile: progress.tile, levels: progress.levels }
        source.made = progress.state === 'ready'
        changed()
        if (source.made) return
        await new Promise((resolve) => setTimeout(resolve, wait))
      }
    } catch (error) {
      if (mine !== turn) return
      source.problem = api.asProblem(error)
      if (!stopped) changed()
    }
  }
  watch(turn)
  return source
}

/** @param {api.OfMap} of @param {import("./pure/map/view.js").Address} tile @param {AbortSignal} signal @returns {Promise<import("./tilestore.js").Loaded>} */
async function load(of, tile, signal) {
  const { values, shape: [planes, rows, columns] } = await api.tile(of, tile, signal)
  const plane = (/** @type {number} */ at) => values.subarray(at * rows * columns, (at + 1) * rows * columns)
  const max = plane(0)
  return { rows, columns, planes: planes === 1 ? { max, mean: max, sum: max } : { max, mean: plane(1), sum: plane(2) } }
}
