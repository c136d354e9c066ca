// Chapter 11, what attention is not: small values under large weights, and weights that explain nothing.

import { mountKnockout } from '../views/lesson/knockout.js'
import { mountNorms } from '../views/lesson/norms.js'
import { put } from '../dom.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On @typedef {import("../lesson/types.js").Parameters} Parameters */

/** @param {HTMLElement} el the chapter's section @param {Chapter} data @param {On} on */
export function mount(el, { experiments }, on) {
  const place = (/** @type {string} */ name) => /** @type {HTMLElement} */ (el.querySelector(`[data-live="${name}"]`))
  put(place('found'), experiments.knock_out.says)
  const views = [mountNorms(place('norms'), experiments.value_norms, on), mountKnockout(place('knockout'), experiments.knock_out, on)]
  return {
    /** @param {Parameters} state */
    update: (state) => views.forEach((view) => view.update(state)),
    destroy: () => views.forEach((view) => view.destroy()),
  }
}
