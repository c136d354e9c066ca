// Chapter 5, many heads: a width seen as heads, four grids, what moves a head, and two heads made by hand.

import { mountTeller } from '../lesson/teller.js'
import { mountDesigned } from '../views/lesson/designed.js'
import { mountSplit } from '../views/lesson/split.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On @typedef {import("../lesson/types.js").Parameters} Parameters */

/** @param {HTMLElement} el the chapter's section @param {Chapter} data @param {On} on */
export function mount(el, data, on) {
  const place = (/** @type {string} */ name) => /** @type {HTMLElement} */ (el.querySelector(`[data-live="${name}"]`))
  const split = mountSplit({ split: place('split'), weights: place('weights'), influence: place('influence') }, data.experiments.split, on)
  const designed = mountDesigned(place('designed'), data.experiments.designed_heads, on)
  const tell = mountTeller(el, '.found, .arith', on.say)
  return {
    /** @param {Parameters} state */
    update(state) {
      split.update(state)
      designed.update(state)
      tell()
    },
    destroy() {},
  }
}
