// A comparison of two finished runs: asked for, watched, cancelled, and kept until another is asked for.

import * as api from './api.js'
import { asProblem } from './session.js'

const [FIRST_LOOK, LONGEST_WAIT] = [60, 500] // ms between two looks at one that is under way
const STOPPED = { title: 'The comparison was cancelled', message: 'Nothing is compared.', hint: '' }

/** @typedef {import("./pure/compare.js").Align} Align @typedef {import("./types.js").Ranked} Ranked @typedef {import("./types.js").Progress} Progress */
/** @typedef {{key: string, id: string, found: Ranked|null, progress: Progress|null, problem: api.ApiError|null, stopped: boolean}} Comparison key: what was asked for; stopped: by the reader */

/** @param {() => void} changed called after each change */
export function createComparing(changed) {
  /** @type {Comparison} */
  const comparison = { key: '', id: '', found: null, progress: null, problem: null, stopped: false }
  let turn = 0

  /** Asks for one unless it is the one at hand. @param {string} a @param {string} b @param {Align} align */
  function of(a, b, align) {
    const key = `${a} ${b} ${align}`
    if (comparison.key !== key) ask(a, b, align, key)
    return comparison
  }

  /** @param {string} a @param {string} b @param {Align} align @param {string} key */
  async function ask(a, b, align, key) {
    forget()
    const mine = ++turn
    Object.assign(comparison, { key, problem: null, stopped: false })
    try {
      const { id } = await api.compare(a, b, align)
      if (mine !== turn) return void api.stopComparison(id).catch(() => {})
      comparison.id = id
      const found = (await watched(id, mine)) && (await api.compared(id))
      if (found && mine === turn) Object.assign(comparison, { found, progress: null })
    } catch (error) {
      if (mine === turn) Object.assign(comparison, { problem: asProblem(error), progress: null })
    }
    changed()
  }

  /** @param {string} id @param {number} mine @returns {Promise<boolean>} false once another was asked for */
  async function watched(id, mine) {
    for (let wait = FIRST_LOOK; ; wait = Math.min(LONGEST_WAIT, wait * 1.5)) {
      const progress = await api.comparison(id)
      if (mine !== turn) return false
      if (progress.state === 'done') return true
      if (progress.state !== 'running') throw new api.ApiError(progress.error ?? STOPPED, 400)
      comparison.progress = progress
      changed()
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }

  /** Leaves the one at hand, and stops it where it is under way. */
  function forget() {
    turn++
    if (comparison.id && !comparison.found) api.stopComparison(comparison.id).catch(() => {})
    Object.assign(comparison, { key: '', id: '', found: null, progress: null })
  }

  /** Cancels the one under way; `again` asks for it anew. */
  function cancel() {
    const { key } = comparison
    forget()
    Object.assign(comparison, { key, problem: new api.ApiError(STOPPED, 0), stopped: true })
    changed()
  }

  function again() {
    comparison.key = ''
    changed()
  }

  /** Whether one is under way. */
  const busy = () => comparison.key !== '' && !comparison.found && !comparison.problem

  return { of, cancel, again, forget, busy }
}
