// Numbers of a run, fetched when a view first asks for them and kept while they are likely to be asked for again.

import { asProblem } from './api.js'

const MOST = 400 // entries; a grid of 256 x 256 is 256 KB, so 100 MB at the very most

/** @typedef {import("./api.js").ApiError} ApiError */

/** @param {() => void} arrived called after anything came */
export function createStore(arrived) {
  /** @type {Map<string, {value?: any, problem?: ApiError}>} */
  const kept = new Map()
  let awaited = 0

  /**
   * The value, or undefined until it has come. An error is kept too: see problem().
   * @template T @param {string} key @param {() => Promise<T>} load @returns {T|undefined}
   */
  function get(key, load) {
    const known = kept.get(key)
    if (known) {
      kept.delete(key)
      kept.set(key, known)
      return known.value
    }
    /** @type {{value?: any, problem?: ApiError}} */
    const entry = {}
    kept.set(key, entry)
    for (const oldest of kept.keys()) {
      if (kept.size <= MOST) break
      kept.delete(oldest)
    }
    awaited++
    load().then((value) => (entry.value = value), (error) => (entry.problem = asProblem(error))).then(() => {
      awaited--
      arrived()
    })
    return undefined
  }

  return {
    get,
    /** @param {string} key */
    problem: (key) => kept.get(key)?.problem ?? null,
    /** How many numbers are on their way. */
    awaited: () => awaited,
    clear: () => kept.clear(),
  }
}
