// The map of numbers with a sign: its middle is 0, both ends are alike, and the sign is always written as well.

import { makeMap, parseStops } from '../pure/colour.js'

/** @type {{stops: string, map: import("../pure/colour.js").ColourMap}|null} */
let known = null

/** The map of the theme that is shown now. @returns {import("../pure/colour.js").ColourMap} */
export function signedMap() {
  const stops = getComputedStyle(document.documentElement).getPropertyValue('--diff')
  if (known?.stops !== stops) known = { stops, map: makeMap(parseStops(stops)) }
  return known.map
}

/** Where x lies on that map, between −most and most. @param {number} x @param {number} most */
export const onSigned = (x, most) => (most > 0 ? 0.5 + x / (2 * most) : 0.5)
