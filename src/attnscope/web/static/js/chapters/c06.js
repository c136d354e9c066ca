// Chapter 6, order: two sentences, five shuffled tokens, waves, arrows that turn, slopes.

import { h, put } from '../dom.js'
import { mountTeller } from '../lesson/teller.js'
import { fixed } from '../pure/number.js'
import { mountRotations } from '../views/lesson/rotations.js'
import { mountShuffle } from '../views/lesson/shuffle.js'
import { mountSlopes } from '../views/lesson/slopes.js'
import { mountWaves } from '../views/lesson/waves.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On @typedef {import("../lesson/types.js").Parameters} Parameters */

/** @param {HTMLElement} el the chapter's section @param {Chapter} data @param {On} on */
export function mount(el, data, on) {
  const place = (/** @type {string} */ name) => /** @type {HTMLElement} */ (el.querySelector(`[data-live="${name}"]`))
  const { word_order, shuffle, sinusoids, learned_positions, rotations, slopes } = data.experiments
  put(place('order'), wordOrder(word_order))
  const parts = [
    mountShuffle(place('shuffle'), shuffle, on),
    mountWaves(place('waves'), { waves: sinusoids, learned: learned_positions }, on),
    mountRotations(place('rotations'), rotations, on),
    mountSlopes(place('slopes'), slopes, on),
  ]
  const tell = mountTeller(el, '.product, .product + p, .sloped .caption', on.say)
  return {
    /** @param {Parameters} state */
    update(state) {
      for (const part of parts) part.update(state)
      tell()
    },
    destroy() {},
  }
}

/** How far each word's output moves, in three ways. @param {{sentences: string[], words: string[][], names: string[], moved: number[][]}} data */
function wordOrder({ sentences, words, names, moved }) {
  const head = h('tr', {}, h('th', { scope: 'col' }, h('span', { class: 'sr' }, 'Word')), ...names.map((name) => h('th', { scope: 'col' }, name)))
  const rows = words[0].map((word, i) => h('tr', {}, h('th', { scope: 'row' }, h('code', {}, word)), ...moved.map((way) => h('td', { title: fixed(way[i], 7) }, fixed(way[i], 4)))))
  return h('div', { class: 'wide' }, h('table', { class: 'nums wraps' }, h('caption', {}, `Largest difference of each word’s output between “${sentences[0]}” and “${sentences[1]}”`), h('thead', {}, head), h('tbody', {}, ...rows)))
}
