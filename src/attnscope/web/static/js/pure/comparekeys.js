// What the keys dialog of Compare lists.

/** @type {import("./keyboard.js").KeyList} */
export const COMPARE_KEYS = [
  {
    part: 'Everywhere',
    keys: [
      { keys: ['Tab'], does: 'next part of the page' },
      { keys: ['c'], does: 'copy the link to this view' },
      { keys: ['d'], does: 'light or dark' },
      { keys: ['?'], does: 'these keys' },
    ],
  },
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
