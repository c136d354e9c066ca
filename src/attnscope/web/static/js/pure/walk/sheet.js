// A sheet, changed: every function returns a new one and leaves the old as it is, so that any edit can be undone.

/** @typedef {import("./types.js").Sheet} Sheet */
/** @typedef {import("./types.js").Ref} Ref */
/** @typedef {import("./types.js").Projected} Projected */
/** @typedef {import("./types.js").Recipe} Recipe */
/** @typedef {"x"|"wq"|"wk"|"wv"} Input */

const PROJECTED = /** @type {const} */ (['q', 'k', 'v'])
const MATRICES = /** @type {const} */ (['wq', 'wk', 'wv'])

/** A number of x or a matrix; of q, k or v, whose cell then follows no projection. @param {Sheet} sheet @param {Ref} ref @param {number} value @returns {Sheet} */
export function withNumber(sheet, ref, value) {
  const [row, column] = ref.at
  if (isProjected(ref.grid)) {
    const others = sheet.edited[ref.grid].filter(([i, c]) => i !== row || c !== column)
    const cells = [...others, /** @type {[number, number, number]} */ ([row, column, value])].sort((a, b) => a[0] - b[0] || a[1] - b[1])
    return { ...sheet, edited: { ...sheet.edited, [ref.grid]: cells } }
  }
  const rows = sheet[/** @type {Input} */ (ref.grid)].map((one, r) => (r === row ? one.map((x, c) => (c === column ? value : x)) : one))
  return { ...sheet, [ref.grid]: rows }
}

/** The cell of q, k or v follows its projection again. @param {Sheet} sheet @param {Ref} ref @returns {Sheet} */
export function attached(sheet, ref) {
  if (!isProjected(ref.grid)) return sheet
  const cells = sheet.edited[ref.grid].filter(([i, c]) => i !== ref.at[0] || c !== ref.at[1])
  return { ...sheet, edited: { ...sheet.edited, [ref.grid]: cells } }
}

/** Whether a cell is not as it was: detached, or another number than on the fresh sheet. @param {Sheet} sheet @param {Ref} ref @param {Sheet} fresh */
export function isEdited(sheet, ref, fresh) {
  const [row, column] = ref.at
  if (isProjected(ref.grid)) return sheet.edited[ref.grid].some(([i, c]) => i === row && c === column)
  const grid = /** @type {Input} */ (ref.grid)
  return sheet[grid]?.[row]?.[column] !== fresh[grid]?.[row]?.[column]
}

/** Another word at a position: one that is there already shares its row of x. @param {Sheet} sheet @param {number} at @param {string} word @param {Recipe} recipe */
export function withWord(sheet, at, word, recipe) {
  return withWords(sheet, sheet.words.map((one, i) => (i === at ? word : one)), recipe)
}

/** More words, taken from the spare ones, or fewer. @param {Sheet} sheet @param {number} n @param {Recipe} recipe @returns {Sheet} */
export function withCount(sheet, n, recipe) {
  const words = sheet.words.slice(0, n)
  while (words.length < n) {
    const next = recipe.spare.words[words.length]
    words.push(words.includes(next) ? recipe.spare.words.find((one) => !words.includes(one)) ?? next : next)
  }
  return withWords(sheet, words, recipe)
}

/** Columns of zeros added to the matrices, or their last ones cut. @param {Sheet} sheet @param {number} d @returns {Sheet} */
export function withDepth(sheet, d) {
  const resized = Object.fromEntries(MATRICES.map((name) => [name, sheet[name].map((row) => sized(row, d))]))
  return { ...sheet, ...resized, edited: editsWhere(sheet, (_, c) => c < d) }
}

/** @param {Sheet} sheet @param {boolean} causal @returns {Sheet} */
export const withMask = (sheet, causal) => ({ ...sheet, causal })

/** @param {Sheet} sheet @param {boolean} scale @returns {Sheet} */
export const withScale = (sheet, scale) => ({ ...sheet, scale })

/**
 * Other words: one that stays keeps its row of x, and a new one takes over the row of the word that it replaces everywhere.
 * @param {Sheet} sheet @param {string[]} words @param {Recipe} recipe @returns {Sheet}
 */
export function withWords(sheet, words, recipe) {
  const before = [...new Set(sheet.words)]
  const after = [...new Set(words)]
  const orphans = new Map(before.map((word, row) => [word, sheet.x[row]]))
  for (const word of after) orphans.delete(word)
  /** @type {Sheet} */
  let made = { ...sheet, words, x: [], edited: editsWhere(sheet, (i) => i < words.length) }
  /** @type {(number[]|null)[]} */
  const rows = after.map((word) => {
    const row = sheet.x[before.indexOf(word)]
    if (row) return row
    const replaced = sheet.words[words.indexOf(word)]
    const free = replaced === undefined ? undefined : orphans.get(replaced)
    orphans.delete(replaced)
    return free ?? null
  })
  made = withoutIdleColumns({ ...made, x: rows.filter((row) => row !== null) }, sheet, rows.length)
  let kept = 0
  const slots = rows.map((row) => (row ? made.x[kept++] : null))
  slots.forEach((row, at) => { if (!row) made = withNewRow(made, slots, at, recipe) })
  return { ...made, x: slots.map((row) => /** @type {number[]} */ (row)) }
}

/** Columns of x that the words gone alone used go with them, and so do their rows of the matrices. @param {Sheet} made @param {Sheet} before @param {number} wanted @returns {Sheet} */
function withoutIdleColumns(made, before, wanted) {
  const width = before.x[0].length
  const idle = Array.from({ length: width }, (_, a) => before.x.some((row) => row[a]) && made.x.every((row) => !row[a]))
  const stays = (/** @type {any} */ _, /** @type {number} */ a) => !idle[a]
  if (!made.x.length || idle.every((one) => one) || wanted === 0) return made
  const matrices = Object.fromEntries(MATRICES.map((name) => [name, made[name].filter(stays)]))
  return { ...made, ...matrices, x: made.x.map((row) => row.filter(stays)) }
}

/** A row for a new word, as the identity goes on: a column of its own, and a spare row in every matrix. @param {Sheet} sheet @param {(number[]|null)[]} slots @param {number} at @param {Recipe} recipe @returns {Sheet} */
function withNewRow(sheet, slots, at, recipe) {
  const width = sheet.wq.length
  const d = sheet.wq[0].length
  if (width >= recipe.limits.width[1]) {
    slots[at] = Array.from({ length: width }, (_, a) => Number(a === at))
    return sheet
  }
  slots.forEach((row, r) => { if (row) slots[r] = [...row, 0] })
  slots[at] = Array.from({ length: width + 1 }, (_, a) => Number(a === width))
  const rows = MATRICES.map((name) => [name, [...sheet[name], sized(recipe.spare[name][at], d)]])
  return { ...sheet, ...Object.fromEntries(rows) }
}

/** @param {Sheet} sheet @param {(i: number, c: number) => boolean} stays */
function editsWhere(sheet, stays) {
  const kept = PROJECTED.map((grid) => [grid, sheet.edited[grid].filter(([i, c]) => stays(i, c))])
  return /** @type {Sheet["edited"]} */ (Object.fromEntries(kept))
}

/** @param {number[]} row @param {number} size */
const sized = (row, size) => Array.from({ length: size }, (_, c) => row[c] ?? 0)

/** @param {string} grid @returns {grid is Projected} */
const isProjected = (grid) => grid === 'q' || grid === 'k' || grid === 'v'
