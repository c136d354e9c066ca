// Chapter 7, what it costs: the square and the line, windows, and a measurement on the reader's machine.

import { mountCosts } from '../views/lesson/costs.js'
import { mountMeasure } from '../views/lesson/measure.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On @typedef {import("../lesson/types.js").Parameters} Parameters */

/** @param {HTMLElement} el the chapter's section @param {Chapter} data @param {On} on */
export function mount(el, data, on) {
  const place = (/** @type {string} */ name) => /** @type {HTMLElement} */ (el.querySelector(`[data-live="${name}"]`))
  const costs = mountCosts({ law: place('law'), curve: place('curve') }, data.experiments.cost, on)
  const measure = mountMeasure(place('measure'), on)
  return {
    /** @param {Parameters} state */
    update(state) {
      costs.update(state)
      measure.update(state)
    },
    destroy() {
      measure.destroy()
    },
  }
}
