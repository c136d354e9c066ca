// What the keys dialog of Compare lists.

import { everywhere } from './keyboard.js'

/** @type {import("./keyboard.js").KeyList} */
export const COMPARE_KEYS = [
  everywhere(),
  {
    part: 'What is compared',
    keys: [
      { keys: ['a'], does: 'another way of aligning the texts' },
      { keys: ['s'], does: 'swap the two' },
      { keys: ['m'], does: 'rank by the mean or by the largest row' },
      { keys: ['l'], does: 'colour: logarithmic or linear' },
    ],
  },
  {
    part: 'Heads and pictures',
    keys: [{ keys: ['↑', '↓', '←', '→'], does: 'move in the part that has the focus' }],
  },
]
