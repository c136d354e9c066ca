// What the colours of a picture stand for: the map 8 px high, and a few numbers under it.

import { h, put } from '../dom.js'

const STOPS = 24

/**
 * @param {{ticks: string[], means: string}} opts ticks: evenly spaced from the least colour to the most; means: what the numbers are
 * @returns {{el: HTMLElement, update: (map: import("../pure/colour.js").ColourMap) => void}}
 */
export function mountLegend({ ticks, means }) {
  const ramp = h('i', { class: 'legend-ramp', 'aria-hidden': 'true' })
  const el = h('div', { class: 'legend lesson-legend' }, ramp, h('div'), h('span', { class: 'means' }, means))
  put(/** @type {HTMLElement} */ (el.children[1]), ...ticks.map((tick) => h('span', {}, tick)))
  return {
    el,
    update(map) {
      ramp.style.backgroundImage = `linear-gradient(to right, ${Array.from({ length: STOPS + 1 }, (_, at) => map.css(at / STOPS)).join(', ')})`
    },
  }
}
