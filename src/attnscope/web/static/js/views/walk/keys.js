// The keys of the walk.

/** @typedef {"step"|"back"|"stage"|"back stage"|"first"|"last"|"up"|"down"|"play"|"undo"|"redo"} WalkAction */

/** @type {Record<string, WalkAction>} */
const PLAIN = { ArrowRight: 'step', ArrowLeft: 'back', ArrowUp: 'up', ArrowDown: 'down', Home: 'first', End: 'last', ' ': 'play' }
/** @type {Record<string, WalkAction>} */
const SHIFTED = { ArrowRight: 'stage', ArrowLeft: 'back stage' }

/** @param {import("../../pure/keyboard.js").Key} event @returns {WalkAction|null} */
export function action(event) {
  if (event.altKey) return null
  if (event.ctrlKey || event.metaKey) return event.key.toLowerCase() !== 'z' ? null : event.shiftKey ? 'redo' : 'undo'
  return (event.shiftKey ? SHIFTED : PLAIN)[event.key] ?? null
}

/** @type {import("../../pure/keyboard.js").KeyList} */
export const KEYS = [
  {
    part: 'The walk',
    keys: [
      { keys: ['←', '→'], does: 'one step back or forward' },
      { keys: ['Shift ←', 'Shift →'], does: 'the end of the stage before or of the next one' },
      { keys: ['Space'], does: 'play or pause' },
      { keys: ['Home', 'End'], does: 'first and last step' },
      { keys: ['↑', '↓'], does: 'the word before or after asks' },
      { keys: ['Ctrl Z', 'Ctrl Shift Z'], does: 'undo, redo' },
    ],
  },
  {
    part: 'The numbers',
    keys: [
      { keys: ['↑', '↓', '←', '→'], does: 'from number to number once one has the focus; each says what it was made of' },
      { keys: ['Enter'], does: 'take the number that is typed' },
      { keys: ['Esc'], does: 'back to the number that is in use; from a number to the player' },
    ],
  },
]
