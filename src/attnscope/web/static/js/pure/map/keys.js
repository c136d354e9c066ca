// The keys of the map.

import { everywhere } from '../keyboard.js'

/** @typedef {"in"|"out"|"whole"|"goto"|"next"|"previous"|"marks"|"heads"|"linear"|"log"|"row"|"rank"|"left"|"right"|"up"|"down"|"fly"|"open"} Action */

/** @type {Record<string, Action>} */
const ACTIONS = {
  '+': 'in', '=': 'in', '-': 'out', '−': 'out', 0: 'whole', g: 'goto', '/': 'goto', n: 'next', p: 'previous', m: 'marks', h: 'heads',
  1: 'linear', 2: 'log', 3: 'row', 4: 'rank',
}
/** @type {Record<string, Action>} */
const ON_PLANE = { ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down', Enter: 'fly', ' ': 'open' }

/** The page's shortcut, if the key is one; arrows, Enter and Space only count where the plane has the focus. @param {{key: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean}} event @param {{typing: boolean, plane: boolean}} where @returns {Action|null} */
export function shortcut({ key, ctrlKey, metaKey, altKey }, { typing, plane }) {
  if (typing || ctrlKey || metaKey || altKey) return null
  return ACTIONS[key] ?? (plane ? (ON_PLANE[key] ?? null) : null)
}

/** @type {import("../keyboard.js").KeyList} */
export const KEYS = [
  everywhere({ keys: ['g', '/'], does: 'go to a position, a cell or a text' }, { keys: ['h'], does: 'choose another head' }),
  {
    part: 'Map',
    keys: [
      { keys: ['↑', '↓', '←', '→'], does: 'move over the map; with Shift, the crosshair by a cell' },
      { keys: ['+', '−'], does: 'zoom in and out about the crosshair' },
      { keys: ['0'], does: 'the whole grid' },
      { keys: ['n', 'p'], does: 'next and previous large cell' },
      { keys: ['Enter'], does: 'fly to the chosen cell' },
      { keys: ['Space'], does: 'its arithmetic' },
      { keys: ['m'], does: 'marks' },
      { keys: ['1', '2', '3', '4'], does: 'colour: linear, log, row, rank' },
    ],
  },
  {
    part: 'Lens and largest cells',
    keys: [
      { keys: ['↑', '↓', '←', '→'], does: 'the neighbouring cell' },
      { keys: ['Enter'], does: 'fly there' },
      { keys: ['Space'], does: 'in the lens, the arithmetic of the chosen cell' },
    ],
  },
]
