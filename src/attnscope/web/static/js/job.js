// A job of the server as the page follows it: asked for, looked at until it ends, cancelled. Answers about an older one are dropped.

import { ApiError, CALM, asProblem } from './api.js'

const [FIRST_LOOK, LONGEST_WAIT] = [60, 400] // ms between two looks

/** @typedef {import("./types.js").Progress} Progress */
/** key: what was asked for, "" for nothing; since when (ms); problem: what stopped the last one. @typedef {{key: string, busy: boolean, since: number, progress: Progress|null, problem: ApiError|null}} Job */
/**
 * How a kind of job is asked for. take: what is wanted of one that is done; ended: told of it, or null where it failed, before the page
 * draws; stopped: what is said of a cancelled one; goesOn: the server does not stop it where the page looks away.
 * @template Found
 * @typedef {{key: string, ask: () => Promise<{id: string}>, look: (id: string) => Promise<Progress>, stop: (id: string) => Promise<unknown>,
 *   take: (id: string, last: Progress) => Promise<Found>, ended: (found: Found|null) => void, stopped: import("./types.js").Problem, goesOn?: boolean}} Way
 */
/** @typedef {{way: Way<any>, id: string, unwanted: boolean}} Asked */

const NOTHING = { key: '', busy: false, since: 0, progress: null, problem: null }

/** @param {() => void} changed called after each change */
export function createJob(changed) {
  /** @type {Job} */
  const now = { ...NOTHING }
  /** @type {Asked|null} the one under way */
  let current = null
  /** @type {Promise<unknown>} what was stopped is out of the way before the same is asked for again */
  let stopping = Promise.resolve()

  /** Leaves the one at hand for another. @template Found @param {Way<Found>} way */
  async function start(way) {
    leave(way.key)
    /** @type {Asked} */
    const mine = (current = { way, id: '', unwanted: false })
    Object.assign(now, { key: way.key, busy: true, since: performance.now() })
    changed()
    try {
      await stopping
      if (mine !== current) return
      mine.id = (await way.ask()).id
      if (mine.unwanted && current?.way.key !== way.key) stop(mine)
      const last = await watched(mine)
      if (!last) return
      const found = await way.take(mine.id, last)
      if (mine === current) end(found, null)
    } catch (error) {
      if (mine === current) end(null, asProblem(error))
    }
  }

  /** @param {Asked} mine @returns {Promise<Progress|null>} the last state of one that is done; null once it is not at hand any more */
  async function watched(mine) {
    for (let wait = FIRST_LOOK; mine === current; wait = Math.min(LONGEST_WAIT, wait * 1.5)) {
      const progress = await mine.way.look(mine.id)
      if (mine !== current) break
      now.progress = progress
      if (progress.state === 'done') return progress
      changed()
      if (progress.state === 'failed' && progress.error) throw new ApiError(progress.error, 400)
      if (progress.state === 'cancelled') throw new ApiError(mine.way.stopped, CALM)
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
    return null
  }

  /** @param {any} found @param {ApiError|null} problem */
  function end(found, problem) {
    const way = current?.way
    current = null
    Object.assign(now, { busy: false, progress: null, problem })
    way?.ended(found)
    changed()
  }

  /** Looks away; the server stops it where nobody looks any more. @param {string} [next] what is asked for instead */
  const leave = (next = '') => drop(Boolean(current && !current.way.goesOn && current.way.key !== next))

  /** Cancels the one under way. @param {boolean} [quietly] without a word, where something older can stay */
  function cancel(quietly = false) {
    if (!current) return
    const { key, stopped } = current.way
    drop(true)
    Object.assign(now, { key, problem: quietly ? null : new ApiError(stopped, CALM) })
    changed()
  }

  /** @param {boolean} stops whether the server is told */
  function drop(stops) {
    if (current) current.unwanted = stops
    if (current?.id && stops) stop(current)
    current = null
    Object.assign(now, NOTHING)
  }

  /** @param {Asked} asked */
  const stop = ({ way, id }) => (stopping = way.stop(id).catch(() => {}))

  return { now, start, leave, cancel }
}
