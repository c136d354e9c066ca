// Below the walk: the same stages for all queries, so that one row is seen to be one of many.

import { h, put } from '../../dom.js'
import { mountNumber } from './cells.js'
import { cell, row, visibleOf, wordOf } from './rows.js'

/** @typedef {import("./model.js").Model} Model @typedef {import("../../pure/colour.js").ColourMap} ColourMap @typedef {import("./layout.js").Fit} Fit */
/** wide: a folded stage of many words has no room for its numbers. @typedef {{grid: string, stage: number, text?: (x: number) => string, look?: string, wide?: boolean}} Matrix */

const ROOM = 5.5 // digits of a number of these grids
const NARROW = 4.5 // where there are many of them in a line
/** Digits of a number of a folded stage, by how many stand in a line. @type {Record<number, number>} */
const FOLDED = { 2: 5.5, 3: 4.5, 4: 3.5 }

/** @type {Matrix[]} */
const MATRICES = [
  { grid: 'products', stage: 1, wide: true },
  { grid: 'scaled', stage: 2, wide: true },
  { grid: 'scores', stage: 3, text: visibleOf, look: 'seen' },
  { grid: 'weights', stage: 4 },
]

/** @param {number} n @param {string[]} titles of the stages */
export function mountBandHead(n, titles) {
  const heads = MATRICES.map(() => h('span', { class: 'mat heads' }, ...Array.from({ length: n }, () => h('span', {}))))
  return {
    el: row(h('div', { class: 'k band', role: 'rowheader' }, h('span', { class: 'sr' }, 'keys')), cell('band s0', 'All queries'), ...heads.map((head, at) => cell(`band s${at + 1}`, head, MATRICES[at].wide ? h('span', { class: 'elsewhere' }, `see ${at + 2} ${titles[at + 1]}`) : null)), cell('band s5', 'Outputs')),
    /** @param {Model} model */
    update(model) {
      for (const head of heads) [...head.children].forEach((el, j) => put(el, ...wordOf(model, j)))
    },
  }
}

/** One query's row of every stage. @param {number} i @param {number} n @param {number} d @param {{choose: (query: number) => void}} on */
export function mountBandRow(i, n, d, on) {
  const word = h('div', { class: 'k m', role: 'rowheader' })
  const query = Array.from({ length: d }, () => mountNumber({ stage: 0, room: NARROW, still: true }))
  const forms = MATRICES.map(({ text, stage, look }) => ({ text, stage, look, room: ROOM, still: true }))
  const matrices = forms.map((form) => Array.from({ length: n }, () => mountNumber(form)))
  const out = Array.from({ length: d }, () => mountNumber({ stage: 5, room: d > 2 ? NARROW : ROOM, still: true }))
  const frames = [query, ...matrices, out].map((numbers) => h('span', { class: 'mat' }, ...numbers.map((one) => one.el)))
  const el = row(word, cell('m s0', h('span', { class: 'v', 'aria-hidden': 'true' }, 'q'), frames[0]), ...frames.slice(1).map((frame, at) => cell(`m s${at + 1}`, frame)))
  el.addEventListener('click', () => on.choose(i))
  return {
    el,
    /** @param {Model} model @param {ColourMap} map @param {Fit} fit */
    update(model, map, fit) {
      const chosen = i === model.query
      put(word, ...wordOf(model, i))
      word.classList.toggle('cur', chosen)
      for (const frame of frames) frame.classList.toggle('cur', chosen)
      query.forEach((one, c) => one.update(model, 'q', i, c))
      out.forEach((one, c) => one.update(model, 'out', i, c))
      MATRICES.forEach(({ grid, stage }, at) => {
        const folded = fit === 'fold' && stage !== model.stage && grid !== 'weights'
        forms[at].room = Math.min(n > 4 || grid === 'scaled' ? NARROW : ROOM, folded ? FOLDED[n] ?? NARROW : ROOM)
        matrices[at].forEach((one, j) => {
          const { value } = one.update(model, grid, i, j)
          const hidden = !model.values.visible(i, j)
          one.el.classList.toggle('hatch', hidden && stage >= 3)
          if (grid === 'weights') shade(one.el, hidden ? null : value, map)
        })
      })
    },
  }
}

/** @param {HTMLElement} el @param {number|null} w null: no colour @param {ColourMap} map */
function shade(el, w, map) {
  if (w === null) {
    el.style.removeProperty('background-color')
    el.style.removeProperty('color')
    return
  }
  el.style.setProperty('background-color', map.css(w))
  el.style.setProperty('color', `var(--cell-${map.ink(w)})`)
}
