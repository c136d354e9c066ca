// One text through one model: started, watched, cancelled, and kept until the next one is done.

import * as api from './api.js'

/** @typedef {import("./types.js").Result} Result @typedef {import("./types.js").Block} Block @typedef {import("./types.js").Progress} Progress */
/** @typedef {{id: string, result: Result, thumbnails: Block}} Run */
/**
 * run is the last one that finished, progress that of the one under way, since when (ms), problem what stopped the last one.
 * @typedef {{run: Run|null, progress: Progress|null, problem: api.ApiError|null, busy: boolean, since: number, asked: {model: string, text: string}|null}} Session
 */

/** Status of what is no fault: nobody asked yet, or the reader stopped it. */
export const CALM = 499
const NO_TEXT = { title: 'No text yet', message: 'Type or paste a text. It stays on this machine.' }
const STOPPED = { title: 'Cancelled', message: 'The run was stopped. Nothing was kept of it.' }
const FIRST_LOOK = 60 // ms
const LONGEST_WAIT = 400

/** @param {() => void} changed @param {(model: string) => boolean} recorded whether a model is a recording, which needs no text */
export function createSession(changed, recorded) {
  /** @type {Session} */
  const session = { run: null, progress: null, problem: null, busy: false, since: 0, asked: null }
  let turn = 0 // answers to an older question are dropped

  /** @param {string} model @param {string} text @param {string} [words] */
  async function start(model, text, words = '') {
    const mine = ++turn
    if (!text && !recorded(model)) return finish({ run: null, asked: { model, text }, problem: new api.ApiError(NO_TEXT, CALM) })
    const older = session.busy ? session.progress : null
    if (older) api.cancel(older.id).catch(() => {})
    Object.assign(session, { progress: null, problem: null, busy: true, since: performance.now(), asked: { model, text } })
    changed()
    try {
      const { id } = await api.start(model, text, words)
      const done = await watch(id, mine)
      if (!done?.result || mine !== turn) return
      const thumbnails = await api.thumbnails(id)
      if (mine === turn) finish({ run: { id, result: done.result, thumbnails } })
    } catch (error) {
      if (mine === turn) finish({ run: null, problem: asProblem(error) })
    }
  }

  /** @param {string} id @param {number} mine @returns {Promise<Progress|null>} null once another run was asked for */
  async function watch(id, mine) {
    for (let wait = FIRST_LOOK; ; wait = Math.min(LONGEST_WAIT, wait * 1.5)) {
      const progress = await api.progress(id)
      if (mine !== turn) return null
      if (progress.state === 'done') return progress
      if (progress.state === 'failed' && progress.error) throw new api.ApiError(progress.error, 400)
      if (progress.state === 'cancelled') throw new api.ApiError(STOPPED, CALM)
      session.progress = progress
      changed()
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }

  /** @param {Partial<Session>} outcome */
  function finish(outcome) {
    Object.assign(session, { progress: null, busy: false }, outcome)
    changed()
  }

  function cancel() {
    if (session.progress) api.cancel(session.progress.id).catch(() => {})
    turn++
    finish(session.run ? {} : { problem: new api.ApiError(STOPPED, CALM) })
  }

  return { session, start, cancel }
}

/** @param {unknown} error @returns {api.ApiError} */
export function asProblem(error) {
  if (error instanceof api.ApiError) return error
  return new api.ApiError({ title: 'The page could not read the answer', message: error instanceof Error ? error.message : String(error) }, 0)
}
