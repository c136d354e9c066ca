// A survey that the app makes: started, watched, cancelled; what it gave is asked for by its name.

import * as api from './api.js'
import { CALM, asProblem } from './session.js'

/** of: whose heads; since when it is watched (ms). @typedef {{of: string, since: number, progress: import("./types.js").Progress|null, problem: api.ApiError|null, busy: boolean}} Measuring */

const LOOK = 250 // ms between two looks
const STOPPED = { title: 'Cancelled', message: 'Nothing was kept of what was measured.' }

/** @param {() => void} changed @param {() => void} done */
export function createSurvey(changed, done) {
  /** @type {Measuring} */
  const now = { of: '', since: 0, progress: null, problem: null, busy: false }
  let turn = 0 // answers about an older one are dropped

  /** @param {string} of @param {string|null} known the id of one that is under way */
  async function start(of, known = null) {
    const mine = ++turn
    Object.assign(now, { of, since: performance.now(), progress: null, problem: null, busy: true })
    changed()
    try {
      const id = known ?? (await api.measureHeads(of)).id
      for (;;) {
        const progress = await api.surveyState(id)
        if (mine !== turn) return
        if (progress.state === 'done') break
        if (progress.state === 'failed' && progress.error) throw new api.ApiError(progress.error, 400)
        if (progress.state === 'cancelled') throw new api.ApiError(STOPPED, CALM)
        now.progress = progress
        changed()
        await new Promise((resolve) => setTimeout(resolve, LOOK))
      }
      Object.assign(now, { progress: null, busy: false })
      done()
    } catch (error) {
      if (mine !== turn) return
      Object.assign(now, { progress: null, busy: false, problem: asProblem(error) })
      changed()
    }
  }

  return {
    now,
    start,
    cancel() {
      if (now.progress) api.stopSurvey(now.progress.id).catch(() => {})
    },
    /** Looks away: another survey is looked at. */
    leave() {
      turn++
      Object.assign(now, { of: '', progress: null, problem: null, busy: false })
    },
  }
}
