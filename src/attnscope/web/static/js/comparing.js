// A comparison of two finished runs: asked for, watched, cancelled, and kept until another is asked for.

import * as api from './api.js'
import { createJob } from './job.js'

const STOPPED = { title: 'The comparison was cancelled', message: 'Nothing is compared.' }

/** @typedef {import("./pure/compare.js").Align} Align @typedef {import("./types.js").Ranked} Ranked */
/** found: what it told of its heads, and its id. @typedef {import("./job.js").Job & {found: {id: string, ranked: Ranked}|null}} Comparison */

/** @param {() => void} changed called after each change */
export function createComparing(changed) {
  const job = createJob(changed)
  /** @type {Comparison} */
  const now = Object.assign(job.now, { found: null })

  /** Asks for one unless it is the one at hand. @param {string} a @param {string} b @param {Align} align */
  function of(a, b, align) {
    const key = `${a} ${b} ${align}`
    if (now.key !== key) {
      forget()
      job.start({
        key,
        ask: () => api.compare(a, b, align),
        look: api.comparison,
        stop: api.stopComparison,
        take: async (id) => ({ id, ranked: await api.compared(id) }),
        ended: (found) => (now.found = found),
        stopped: STOPPED,
      })
    }
    return now
  }

  /** Leaves the one at hand, and stops it where it is under way. */
  function forget() {
    job.leave()
    now.found = null
  }

  function again() {
    forget()
    changed()
  }

  return { now, of, cancel: () => job.cancel(), again, forget }
}
