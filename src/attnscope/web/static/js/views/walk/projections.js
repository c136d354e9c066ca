// Where q, k and v come from: one row of x for each distinct word, and the three matrices it is multiplied with, all to be edited.

import { h, put } from '../../dom.js'
import { mountVectorField } from './vectorfield.js'

/** @typedef {import("./model.js").Model} Model @typedef {import("./vectorfield.js").OnVector} OnVector */

/** @type {{grid: string, title: string, makes: string}[]} */
const GRIDS = [
  { grid: 'x', title: 'X', makes: 'one row a word' },
  { grid: 'wq', title: 'Wq', makes: 'x · Wq = q' },
  { grid: 'wk', title: 'Wk', makes: 'x · Wk = k' },
  { grid: 'wv', title: 'Wv', makes: 'x · Wv = v' },
]

/** @param {OnVector} on */
export function mountProjections(on) {
  const el = h('section', { class: 'projections', id: 'projections', 'aria-label': 'Projections', hidden: true })
  let built = ''
  /** @type {((model: Model) => void)[]} */
  let updates = []

  /** @param {Model} model */
  function build(model) {
    updates = []
    const words = Array.from({ length: model.values.distinct }, (_, row) => model.words.find((_word, at) => model.values.row(at) === row) ?? '')
    put(el, ...GRIDS.map(({ grid, title, makes }) => {
      const [rows, columns] = model.values.shape(grid)
      const lines = Array.from({ length: rows }, (_, row) => {
        const field = mountVectorField(grid, columns, on, '')
        updates.push((next) => field.update(next, row))
        return h('div', { class: 'line' }, h('span', { class: grid === 'x' ? 'k' : 'k faint' }, grid === 'x' ? h('bdi', {}, words[row]) : String(row + 1)), field.el)
      })
      return h('div', { class: 'matrix', role: 'group', 'aria-label': title }, h('div', { class: 'title' }, h('b', {}, title), ' ', h('span', { class: 'faint' }, makes)), ...lines)
    }))
  }

  return {
    el,
    /** @param {Model} model */
    update(model) {
      if (el.hidden) return
      const shape = JSON.stringify([...GRIDS.map(({ grid }) => model.values.shape(grid)), model.words])
      if (shape !== built) build(model)
      built = shape
      for (const one of updates) one(model)
    },
  }
}
