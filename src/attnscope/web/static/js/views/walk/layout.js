// How wide the walk's columns are for so many words and components, and whether all six stages fit side by side.

/** @typedef {"wide"|"fold"|"tabs"} Fit wide: all stages whole; fold: those not at work show their results alone; tabs: one stage at a time */
/** What the page has room for. @typedef {{fit: Fit, columns: string, band: boolean}} Arrangement columns is a grid-template; band: whether a folded stage still has room for all queries */

const FOLDED = 108 // px of a folded stage

/** @param {{width: number, n: number, d: number, longest: number, stage: number}} of px there are, words, components, letters of the longest word, the stage at work @returns {Arrangement} */
export function arrange({ width, n, d, longest, stage }) {
  const word = Math.max(60, Math.min(132, Math.ceil(longest * 7.9 + 30)))
  const flat = d <= 2
  const rows = Math.ceil(d / 4)
  const across = Math.ceil(d / rows) // components of a part that stand in one line
  const matrix = n * (n <= 4 ? 45 : 34) + 10
  const project = d === 1 ? 148 : flat ? 204 : d * 31 + 46
  const whole = [
    project,
    Math.max(flat ? 192 : 126, matrix),
    Math.max(150, n <= 4 ? 150 : matrix),
    n <= 4 ? 132 : 124,
    Math.max(190, n * 30 + 10),
    Math.max(flat ? 256 : 124 + across * 46, d * 33 + 20),
  ]
  const sum = whole.reduce((total, one) => total + one, word)
  if (width >= sum) return { fit: 'wide', columns: [`${word}px`, ...whole.map((one, at) => (at === 4 ? `minmax(${one}px, 1.6fr)` : `${one}px`))].join(' '), band: true }
  const band = n <= 4
  const folded = [project, ...[1, 2, 3, 4].map(() => (band ? FOLDED : 92)), Math.max(band ? FOLDED : 92, across * 46 + 44)]
  const open = whole.map((one, at) => (at === 0 ? project : Math.max(one, 240)))
  const needed = folded.reduce((total, one, at) => total + (at === stage ? open[at] : one), word)
  // the stage at work may be any of them: the widest decides, so that a step never changes the way the page is laid out
  const most = Math.max(...folded.map((one, at) => open[at] - one)) + folded.reduce((total, one) => total + one, word)
  if (width < Math.max(needed, most)) return { fit: 'tabs', columns: `${Math.min(word, 96)}px minmax(0, 1fr)`, band: true }
  const tracks = folded.map((one, at) => (at === 0 ? `${project}px` : at === stage ? `minmax(${open[at]}px, 2fr)` : `minmax(${one}px, 1fr)`))
  return { fit: 'fold', columns: [`${word}px`, ...tracks].join(' '), band }
}
