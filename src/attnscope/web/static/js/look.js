// The theme as the canvases need it: the colour map and the page behind it, read from the style sheet.

import { makeMap, packed, parseStops } from './pure/colour.js'

/** @typedef {{map: import("./types.js").ColourMap, page: number, dark: boolean}} Look page: packed pixel */

const system = matchMedia('(prefers-color-scheme: dark)')

/** @param {"light"|"dark"|null} theme null follows the system @returns {Look} */
export function look(theme) {
  const root = document.documentElement
  if (theme) root.dataset.theme = theme
  else delete root.dataset.theme
  const dark = theme ? theme === 'dark' : system.matches
  const stops = parseStops(getComputedStyle(root).getPropertyValue('--map'))
  const page = (getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? ['0', '0', '0']).map(Number)
  return { map: makeMap(stops), page: packed([page[0], page[1], page[2]]), dark }
}

/** @param {() => void} changed */
export const onSystemTheme = (changed) => system.addEventListener('change', changed)
