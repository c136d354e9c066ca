// A word of the walk: 1 to 24 characters that show. Told by fixed ranges, as in Python: page and Python may know
// different versions of Unicode. A character that is not assigned yet is taken.

const CHARACTERS = 24
// Controls, halves of characters, private use and what is no character, for ever the same; line ends, annotation and
// object marks, and what Default_Ignorable_Code_Point says is drawn as nothing, the joiners below apart.
const NOTHING = '\\p{Cc}\\p{Cs}\\p{Co}\\p{Noncharacter_Code_Point}\\u2028-\\u202e\\ufff9-\\ufffc'
  + '\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufff8'
  + '\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e001f}\\u{e0080}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}'
// they change or join what stands before them: in emoji, Arabic, the scripts of India, Mongolian, Chinese
const JOINS = '\\u180b-\\u180d\\u180f\\u200c\\u200d\\ufe00-\\ufe0f\\u{e0020}-\\u{e007f}\\u{e0100}-\\u{e01ef}'
// spaces, and the braille cell without a dot
const BLANK = ' \\xa0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u2800\\u3000'
// Latin, Greek, Cyrillic and Armenian join nothing; digits and signs have a form as emoji
const UNFIT = new RegExp(`(?<nothing>[${NOTHING}])|(?:^|[${BLANK}]|(?![0-9#*©®][\\ufe0e\\ufe0f])[\\0-\\u058f])(?<joins>[${JOINS}])`, 'u')
const EDGE = new RegExp(`^[${BLANK}]|[${BLANK}]$`, 'u')

/** A word in its composed form, so that two that look alike are one. @param {string} text @returns {{word: string}|{problem: string}} */
export function readWord(text) {
  const word = text.trim().normalize('NFC')
  const problem = problemOf(word)
  return problem ? { problem } : { word }
}

/** Whether a word can be on a sheet as it is. @param {string} word */
export const isWord = (word) => !problemOf(word)

/** @param {string} word */
function problemOf(word) {
  const size = [...word].length
  if (!size) return 'An empty word. Type at least one character.'
  if (size > CHARACTERS) return `A word of ${size} characters. Type at most ${CHARACTERS}.`
  const { nothing, joins } = UNFIT.exec(word)?.groups ?? {}
  if (nothing) return `This word holds ${named(nothing)}, which shows nothing. Type letters, digits or signs.`
  if (joins) return `${named(joins)} in this word joins nothing, and is not seen. Take it out, or type the word anew.`
  return EDGE.test(word) ? 'This word begins or ends with a blank. Type one without it.' : ''
}

/** @param {string} character */
const named = (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
