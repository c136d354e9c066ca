// The numbers of one run as the views ask for them. A short text's whole grid is fetched at once, a long one's by window, row and column.

import * as api from './api.js'
import { MOST_CELLS } from './pure/layout.js'

/** @typedef {import("./types.js").Span} Span @typedef {import("./types.js").Site} Site @typedef {import("./types.js").Block} Block */
/** @typedef {ReturnType<import("./store.js").createStore>} Store */
/** @typedef {{site: Site, head: number}} Head */

/** Every method gives undefined until its numbers have come. @param {Store} store @param {string} run */
export function numbersOf(store, run) {
  /** @param {Head} of */
  const small = ({ site }) => site.tq <= MOST_CELLS && site.tk <= MOST_CELLS
  /** @param {Head} of */
  const name = ({ site, head }) => `${run} ${site.site} ${head}`

  /** @param {Head} of @param {Span} rows @param {Span} columns @returns {Float32Array|undefined} */
  function grid(of, rows, columns) {
    const { site, head } = of
    const key = `grid ${name(of)} ${rows.start} ${rows.size} ${columns.start} ${columns.size}`
    return store.get(key, () => api.grid(run, site.site, head, rows, columns))?.values
  }

  /** @param {Head} of */
  const whole = (of) => grid(of, { start: 0, size: of.site.tq }, { start: 0, size: of.site.tk })

  return {
    whole: (/** @type {Head} */ of) => (small(of) ? whole(of) : undefined),

    /** @param {Head} of @param {Span} rows @param {Span} columns */
    block(of, rows, columns) {
      if (!small(of)) return grid(of, rows, columns)
      const all = whole(of)
      return all && part(all, `${rows.start} ${rows.size} ${columns.start} ${columns.size}`, () => cut(all, of.site.tk, rows, columns))
    },

    /** @param {Head} of @param {number} i @returns {Float32Array|undefined} */
    row(of, i) {
      const { site, head } = of
      const all = small(of) ? whole(of) : undefined
      if (all) return part(all, `row ${i}`, () => all.subarray(i * site.tk, (i + 1) * site.tk))
      if (small(of)) return undefined
      return store.get(`row ${name(of)} ${i}`, () => api.row(run, site.site, head, i))?.values
    },

    /** @param {Head} of @param {number} j @returns {Float32Array|undefined} */
    column(of, j) {
      const { site, head } = of
      if (!small(of)) return store.get(`column ${name(of)} ${j}`, () => api.column(run, site.site, head, j))?.values
      const all = whole(of)
      return all && part(all, `column ${j}`, () => Float32Array.from({ length: site.tq }, (_, i) => all[i * site.tk + j]))
    },

    /** @param {Head} of */
    sides: (of) => store.get(`sides ${name(of)}`, () => api.sidesOf(run, of.site.site, of.head)),

    /** @param {Head} of @param {number} i @param {number} j */
    cell: (of, i, j) => store.get(`cell ${name(of)} ${i} ${j}`, () => api.cell(run, of.site.site, of.head, i, j)),

    /** @param {number} i */
    next: (i) => store.get(`next ${run} ${i}`, () => api.next(run, i, 5)),

    /** What went wrong with the first of these that did. @param {Head} of @param {number} i @param {number} j */
    problem: (of, i, j) => store.problem(`sides ${name(of)}`) ?? store.problem(`cell ${name(of)} ${i} ${j}`)
      ?? (small(of) ? store.problem(`grid ${name(of)} 0 ${of.site.tq} 0 ${of.site.tk}`) : store.problem(`row ${name(of)} ${i}`)),
  }
}

/** What stands behind a cell of a run in words. @param {Store} store @param {string} run @param {Head} of @param {number} i @param {number} j */
export const wordCellOf = (store, run, { site, head }, i, j) => store.get(`cell ${run} ${site.site} ${head} ${i} ${j}`, () => api.wordCell(run, site.site, head, i, j))

/** @type {WeakMap<Float32Array, Map<string, Float32Array>>} */
const parts = new WeakMap()

/** The same part of a grid is the same object, so that views see that nothing changed. @param {Float32Array} all @param {string} name @param {() => Float32Array} make */
function part(all, name, make) {
  const known = parts.get(all) ?? new Map()
  parts.set(all, known)
  if (!known.has(name)) known.set(name, make())
  return /** @type {Float32Array} */ (known.get(name))
}

/** A block of a grid. @param {Float32Array} all @param {number} width columns of the grid @param {Span} rows @param {Span} columns */
export function cut(all, width, rows, columns) {
  if (columns.size === width) return all.subarray(rows.start * width, (rows.start + rows.size) * width)
  const out = new Float32Array(rows.size * columns.size)
  for (let r = 0; r < rows.size; r++) {
    const from = (rows.start + r) * width + columns.start
    out.set(all.subarray(from, from + columns.size), r * columns.size)
  }
  return out
}
