// The theme as the canvases need it: the colour map and the page behind it, read from the style sheet.

import { makeMap, packed, parseStops } from './pure/colour.js'

/** @typedef {{map: import("./types.js").ColourMap, page: number, edge: number, dark: boolean}} Look page, edge: packed pixels */

const system = matchMedia('(prefers-color-scheme: dark)')

/** @param {"light"|"dark"|null} theme null follows the system @returns {Look} */
export function look(theme) {
  const root = document.documentElement
  if (theme) root.dataset.theme = theme
  else delete root.dataset.theme
  const dark = theme ? theme === 'dark' : system.matches
  const stops = parseStops(getComputedStyle(root).getPropertyValue('--map'))
  const { backgroundColor, color } = getComputedStyle(document.body)
  return { map: makeMap(stops), page: pixel(backgroundColor), edge: pixel(color), dark }
}

/** @param {() => void} changed */
export const onSystemTheme = (changed) => system.addEventListener('change', changed)

/** @param {string} colour as the browser computed it */
function pixel(colour) {
  const [red, green, blue] = (colour.match(/\d+/g) ?? ['0', '0', '0']).map(Number)
  return packed([red, green, blue])
}
