// What a key does: moves inside a grid, a list or wrapped lines, and the page's shortcuts.

/** @typedef {{key: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean, shiftKey?: boolean}} Key */

const PAGE = 10

/**
 * @param {Key} event @param {{row: number, column: number, rows: number, columns: number}} at
 * @returns {{row: number, column: number}|null} where the key leads; null where it means nothing here
 */
export function moveInGrid(event, { row, column, rows, columns }) {
  if (event.altKey || event.metaKey) return null
  const ends = Boolean(event.ctrlKey)
  /** @type {Record<string, [number, number]>} */
  const to = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    PageUp: [row - PAGE, column],
    PageDown: [row + PAGE, column],
    Home: [ends ? 0 : row, 0],
    End: [ends ? rows - 1 : row, columns - 1],
  }
  const next = to[event.key]
  if (!next || (ends && event.key.startsWith('Arrow'))) return null
  return { row: held(next[0], rows), column: held(next[1], columns) }
}

/**
 * A list whose items are wrapped into lines. Up and down go to the item nearest by middle on the neighbouring line.
 * @param {Key} event @param {number} at @param {number} count
 * @param {(index: number) => {x: number, y: number}} middle of an item, in any unit; one line has one y
 * @returns {number|null}
 */
export function moveInLines(event, at, count, middle) {
  if (event.altKey || event.metaKey || event.ctrlKey || !count) return null
  if (event.key === 'ArrowRight') return held(at + 1, count)
  if (event.key === 'ArrowLeft') return held(at - 1, count)
  if (event.key === 'Home') return 0
  if (event.key === 'End') return count - 1
  if (event.key === 'ArrowUp') return nextLine(at, -1, count, middle)
  if (event.key === 'ArrowDown') return nextLine(at, 1, count, middle)
  return null
}

/** @param {number} at @param {1|-1} step @param {number} count @param {(index: number) => {x: number, y: number}} middle */
function nextLine(at, step, count, middle) {
  const from = middle(at)
  let best = at
  let line = from.y
  for (let other = at + step; other >= 0 && other < count; other += step) {
    const to = middle(other)
    if (to.y === from.y) continue
    if (line !== from.y && to.y !== line) break
    if (best === at || Math.abs(to.x - from.x) < Math.abs(middle(best).x - from.x)) best = other
    line = to.y
  }
  return best
}

/** @typedef {"run"|"text"|"way"|"hide"|"table"|"find"|"words"|"linear"|"log"|"row"|"rank"} Action */

/** @type {Record<string, Action>} */
const ACTIONS = { '/': 'text', b: 'way', x: 'hide', t: 'table', f: 'find', w: 'words', 1: 'linear', 2: 'log', 3: 'row', 4: 'rank' }

/** The page's shortcut, if the key is one; while one types, only Ctrl Enter is. @param {Key} event @param {boolean} typing @returns {Action|null} */
export function shortcut(event, typing) {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) return 'run'
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return null
  return ACTIONS[event.key] ?? null
}

/** @typedef {{keys: string[], does: string}} KeyLine @typedef {{part: string, keys: KeyLine[]}[]} KeyList */

/** @typedef {"copy"|"theme"|"keys"} Shared */

/** @type {Record<string, Shared>} */
const SHARED = { c: 'copy', d: 'theme', '?': 'keys' }

/** What a key does on every page. @param {Key} event @param {boolean} typing @returns {Shared|null} */
export const sharedShortcut = ({ key, ctrlKey, metaKey, altKey }, typing) => (typing || ctrlKey || metaKey || altKey ? null : (SHARED[key] ?? null))

/** The part of a list that every page begins with. @param {...KeyLine} own what this page has there */
export const everywhere = (...own) => ({
  part: 'Everywhere',
  keys: [
    { keys: ['Tab'], does: 'next part of the page' },
    ...own,
    { keys: ['c'], does: 'copy the link to this view' },
    { keys: ['d'], does: 'light or dark' },
    { keys: ['?'], does: 'these keys' },
  ],
})

/** The same of a page in a file, which has no link to copy. @param {...KeyLine} own */
export const inFile = (...own) => ({
  part: 'Everywhere',
  keys: everywhere(...own).keys.filter(({ keys }) => keys[0] !== 'c'),
})

/** What the keys dialog of Explore lists. @type {KeyList} */
export const KEYS = [
  everywhere(
    { keys: ['/'], does: 'go to the text' },
    { keys: ['Ctrl', 'Enter'], does: 'run the text' },
    { keys: ['Esc'], does: 'close, or go back to the heads' },
  ),
  {
    part: 'Heads, tokens and cells',
    keys: [
      { keys: ['↑', '↓', '←', '→'], does: 'move in the part that has the focus' },
      { keys: ['Home', 'End'], does: 'first and last of the row' },
      { keys: ['Page Up', 'Page Down'], does: 'ten rows up or down' },
      { keys: ['Enter'], does: 'open the head, that is, go into its map' },
    ],
  },
  {
    part: 'Picture',
    keys: [
      { keys: ['b'], does: 'where a token looks, or who looks at it' },
      { keys: ['1', '2', '3', '4'], does: 'colour: linear, log, row, rank' },
      { keys: ['x'], does: 'hide or show the first column' },
      { keys: ['t'], does: 'the chosen row as a table' },
      { keys: ['w'], does: 'tokens, words, or words with special tokens as one' },
      { keys: ['f'], does: 'find a text among the tokens' },
    ],
  },
]

/** @param {number} at @param {number} count */
function held(at, count) {
  return Math.max(0, Math.min(count - 1, at))
}
