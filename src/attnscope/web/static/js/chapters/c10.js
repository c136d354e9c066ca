// Chapter 10, three pictures that sum it up, and the glossary.

import { mountArcs } from '../views/lesson/arcs.js'
import { mountFlow } from '../views/lesson/flow.js'
import { mountWords } from '../views/lesson/glossary.js'
import { mountThrough } from '../views/lesson/through.js'

/** @typedef {import("../lesson/types.js").Chapter} Chapter @typedef {import("../lesson/types.js").On} On @typedef {import("../lesson/types.js").Parameters} Parameters */

/** @param {HTMLElement} el the chapter's section @param {Chapter} data @param {On} on */
export function mount(el, { experiments }, on) {
  const place = (/** @type {string} */ name) => /** @type {HTMLElement} */ (el.querySelector(`[data-live="${name}"]`))
  mountWords(place('glossary'), experiments.glossary)
  const views = [
    mountArcs(place('arcs'), experiments.arcs, on),
    mountFlow(place('pipeline'), experiments.pipeline, on),
    mountThrough(place('heads'), experiments.through_heads, on),
  ]
  return {
    /** @param {Parameters} state */
    update: (state) => views.forEach((view) => view.update(state)),
    destroy: () => views.forEach((view) => view.destroy()),
  }
}
