// A survey that the app makes: started, watched, cancelled; what it gave is asked for by its name.

import * as api from './api.js'
import { createJob } from './job.js'

const STOPPED = { title: 'Cancelled', message: 'Nothing was kept of what was measured.' }

/** @param {() => void} changed @param {() => void} done */
export function createSurvey(changed, done) {
  const { now, start, leave, cancel } = createJob(changed)
  return {
    /** Its key says whose heads are measured. */
    now,
    leave,
    cancel,
    /** @param {string} of @param {string|null} [known] the id of one that is under way */
    start: (of, known = null) => start({
      key: of,
      ask: async () => (known ? { id: known } : api.measureHeads(of)),
      look: api.surveyState,
      stop: api.stopSurvey,
      take: async () => true,
      ended: (found) => void (found && done()),
      stopped: STOPPED,
      goesOn: true,
    }),
  }
}
