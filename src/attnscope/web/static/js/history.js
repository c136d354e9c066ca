// The address bar follows the state: a choice is a step one can go back from, a quick row of moves is one step.

const ONE_STEP = 900 // ms; moves of one kind that follow one another faster are one step back
const REST = 150 // ms; browsers refuse more than some hundred changes in half a minute

/**
 * @template State
 * @param {{parse: (search: string) => State, format: (state: State) => string}} spelling how a state stands in the address
 * @param {(state: State) => void} went called when the reader went back or forward
 */
export function createHistory({ parse, format }, went) {
  let lastKind = ''
  let lastTime = 0
  let timer = 0
  /** @param {State} state */
  const address = (state) => location.pathname + format(state)
  /** @type {State|null} */
  let waiting = null

  addEventListener('popstate', () => {
    waiting = null
    lastKind = ''
    went(parse(location.search))
  })

  function flush() {
    clearTimeout(timer)
    if (waiting) put('replaceState', waiting)
    waiting = null
  }

  /** Some browsers keep the address of a file or of a sandboxed frame as it is; the state then lives in the page alone. @param {"pushState"|"replaceState"} how @param {State} state */
  function put(how, state) {
    try {
      history[how](null, '', address(state))
    } catch (error) {
      if (!(error instanceof DOMException)) throw error
    }
  }

  return {
    read: () => parse(location.search),
    flush,
    /** @param {State} state @param {string} kind "" completes the present step without making one */
    write(state, kind) {
      const now = performance.now()
      if (kind && (kind !== lastKind || now - lastTime > ONE_STEP)) {
        flush()
        put('pushState', state)
      } else {
        waiting = state
        clearTimeout(timer)
        timer = setTimeout(flush, REST)
      }
      if (kind) [lastKind, lastTime] = [kind, now]
    },
  }
}
