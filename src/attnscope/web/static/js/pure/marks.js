// What stands for a token on a chip and along an axis: its own text, and marks for what the eye cannot see.

/** @typedef {import("../types.js").Token} Token */
/** @typedef {{kind: "text"|"mark"|"byte"|"special", text: string}} Part */

/** @type {Record<string, string>} */
const SIGNS = { ' ': '␣', '\n': '↵', '\r': '␍', '\t': '⇥' }
// control, format and unassigned characters, unusual spaces; variation selectors and joiners inside a longer text stay part of it
const UNSEEN = /^[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Zs}\p{Zl}\p{Zp}]$/u

/** The pieces of a token in order; marks are never part of its text. @param {Token} token @returns {Part[]} */
export function parts(token) {
  if (token.bytes?.length) return token.bytes.map((text) => ({ kind: 'byte', text }))
  if (token.kind === 'special') return [{ kind: 'special', text: token.text }]
  /** @type {Part[]} */
  const out = []
  const alone = [...token.text].length === 1
  for (const char of token.text) {
    const sign = SIGNS[char] ?? (alone && UNSEEN.test(char) ? codePoint(char) : '')
    const last = out[out.length - 1]
    if (sign) out.push({ kind: 'mark', text: sign })
    else if (last?.kind === 'text') last.text += char
    else out.push({ kind: 'text', text: char })
  }
  return out.length ? out : [{ kind: 'mark', text: '∅' }]
}

/** One short line for an axis. @param {Token} token */
export const label = (token) => parts(token).map((part) => part.text).join('')

/** Whether a real line break follows the chip. @param {Token} token */
export const breaksAfter = (token) => !token.bytes && token.kind !== 'special' && token.text.includes('\n')

/** Whether nothing but marks or a number stands on the chip. @param {Token} token */
export const onlyMarks = (token) => token.kind === 'place' || parts(token).every((part) => part.kind === 'mark')

/** Whether the token is nothing but its position. @param {Token} token @param {number} at */
export const isItsPlace = (token, at) => token.kind === 'place' && token.text === String(at)

/** As it is read aloud. @param {Token} token */
export const spoken = (token) => token.spoken || label(token)

/** @param {string} char */
function codePoint(char) {
  return 'U+' + (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
}
