// Chapter 9, untrained and trained: the same heads before and after training on one line, then the larger model's.

import { mountTrained } from '../views/lesson/trained.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On @typedef {import("../lesson/types.js").Parameters} Parameters */

/** @param {HTMLElement} el the chapter's section @param {Chapter} data @param {On} on */
export function mount(el, data, on) {
  const place = (/** @type {string} */ name) => /** @type {HTMLElement} */ (el.querySelector(`[data-live="${name}"]`))
  const places = { pair: place('pair'), larger: place('larger'), findings: place('findings'), draws: place('draws') }
  const trained = mountTrained(places, data.experiments.trained_heads, on)
  return {
    /** @param {Parameters} state */
    update: (state) => trained.update(state),
    destroy() {},
  }
}
