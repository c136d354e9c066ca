// One text through one model: started, watched, cancelled, and kept until the next one is done.

import * as api from './api.js'
import { createJob } from './job.js'

/** @typedef {import("./types.js").Result} Result @typedef {import("./types.js").Block} Block */
/** @typedef {{id: string, result: Result, thumbnails: Block}} Run */
/** run: the last one that finished; asked: for what, the one under way included. @typedef {import("./job.js").Job & {run: Run|null, asked: {model: string, text: string}|null}} Session */

const NO_TEXT = { title: 'No text yet', message: 'Type or paste a text. It stays on this machine.' }
const STOPPED = { title: 'Cancelled', message: 'The run was stopped. Nothing was kept of it.' }

/** @param {() => void} changed @param {(model: string) => boolean} recorded whether a model is a recording, which needs no text */
export function createSession(changed, recorded) {
  const job = createJob(changed)
  /** @type {Session} */
  const session = Object.assign(job.now, { run: null, asked: null })

  /** @param {string} model @param {string} text @param {string} [words] */
  function start(model, text, words = '') {
    session.asked = { model, text }
    if (!text && !recorded(model)) {
      job.leave()
      Object.assign(session, { run: null, problem: new api.ApiError(NO_TEXT, api.CALM) })
      return changed()
    }
    return job.start({
      key: JSON.stringify([model, text, words]),
      ask: () => api.start(model, text, words),
      look: api.progress,
      stop: api.cancel,
      take: async (id, { result }) => ({ id, result: /** @type {Result} */ (result), thumbnails: await api.thumbnails(id) }),
      ended: (run) => (session.run = run),
      stopped: STOPPED,
    })
  }

  return { session, start, cancel: () => job.cancel(session.run !== null) }
}
