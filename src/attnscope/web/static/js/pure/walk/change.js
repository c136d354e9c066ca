// What an edit did, in words: what is new on the sheet, and what that does to the word that asks. lesson/walk/change.py does the same.

import { choose, fill, look, textOf } from './fill.js'
import { three, typed } from './format.js'
import { evaluate } from './values.js'

/** @typedef {import("./types.js").Sheet} Sheet */
/** @typedef {import("./types.js").Recipe} Recipe */
/** @typedef {import("./types.js").Values} Values */
/** @typedef {import("./fill.js").On} On */

const INPUTS = /** @type {const} */ (['x', 'wq', 'wk', 'wv'])
const PROJECTED = /** @type {const} */ (['q', 'k', 'v'])
const PLAIN = 0
const NOW = 1
const STILL = 2

/** @param {Recipe} recipe @param {Sheet} before @param {Sheet} after @param {number} query @returns {string} */
export function changeSentence(recipe, before, after, query) {
  const [old, made] = [before, after].map((sheet) => ({ recipe, sheet, values: evaluate(recipe, sheet) }))
  const said = [...wordsSaid(old, made), ...settingsSaid(old, made), ...numbersSaid(old, made)]
  return said.length ? [...said, effect(old, made, query)].join(' ') : say(recipe, 'nothing')
}

/** @param {On} old @param {On} made @returns {string[]} */
function wordsSaid({ sheet: { words: was } }, { recipe, sheet: { words } }) {
  const { counts, ordinals } = recipe.words
  if (was.length !== words.length) return [say(recipe, 'count', { new: counts[words.length], old: counts[was.length] })]
  const other = words.flatMap((word, i) => (word === was[i] ? [] : [i]))
  if (!other.length) return []
  if (other.length > 1) return [say(recipe, 'words', { new: words.join(' ') })]
  const [i] = other
  return [say(recipe, 'renamed', { ordinal: ordinals[i + 1], new: words[i], old: was[i] })]
}

/** @param {On} old @param {On} made @returns {string[]} */
function settingsSaid(old, { recipe, sheet, values }) {
  const said = []
  if (old.values.d !== values.d) said.push(say(recipe, 'depth', { new: String(values.d), old: String(old.values.d) }))
  if (old.sheet.causal !== sheet.causal) said.push(say(recipe, sheet.causal ? 'causal' : 'open'))
  if (old.sheet.scale !== sheet.scale) said.push(say(recipe, sheet.scale ? 'scaled' : 'unscaled', { d: String(values.d) }))
  return said
}

/** @param {On} old @param {On} made @returns {string[]} */
function numbersSaid(old, made) {
  if (old.sheet.words.join('\n') !== made.sheet.words.join('\n') || old.values.d !== made.values.d) return []
  if (old.values.width !== made.values.width) return [say(made.recipe, 'several')]
  const cells = [old, made].map(({ sheet }) => detached(sheet))
  /** @type {Set<string>} */
  const rows = new Set()
  for (const key of [...cells[0].keys(), ...cells[1].keys()]) {
    if (cells[0].get(key) !== cells[1].get(key)) rows.add(key.split(',').slice(0, 2).join())
  }
  for (const grid of INPUTS) {
    old.sheet[grid].forEach((row, r) => row.some((x, c) => x !== made.sheet[grid][r][c]) && rows.add([grid, r].join()))
  }
  if (rows.size !== 1) return rows.size ? [say(made.recipe, 'several')] : []
  const [grid, row] = [...rows][0].split(',')
  return rowSaid(old, made, grid, Number(row))
}

/** The row of one grid that changed, and whether it still follows its projection. @param {On} old @param {On} made @param {string} grid @param {number} row */
function rowSaid(old, made, grid, row) {
  const { recipe, sheet, values } = made
  const projected = grid === 'q' || grid === 'k' || grid === 'v'
  const matrix = 'W' + grid[grid.length - 1]
  const word = projected ? values.labels[row] : grid === 'x' ? [...new Set(sheet.words)][row] : ''
  const slots = { word, matrix, ordinal: recipe.words.ordinals[row + 1], old: vector(old.values, grid, row, typed), new: vector(values, grid, row, typed) }
  const said = [say(recipe, grid.startsWith('w') ? 'w' : grid, slots)]
  if (!projected) return said
  const loose = [old, made].map((on) => on.sheet.edited[grid].some(([i]) => i === row))
  return loose[0] === loose[1] ? said : [...said, say(recipe, loose[1] ? 'detached' : 'attached', { matrix })]
}

/** What the change does to the word that asks. @param {On} old @param {On} made @param {number} query */
function effect(old, made, query) {
  if (old.values.n !== made.values.n) return looks(made, query, NOW)
  if (looks(old, query, PLAIN) !== looks(made, query, PLAIN)) return looks(made, query, NOW)
  if (vector(old.values, 'weights', query, three) !== vector(made.values, 'weights', query, three)) return looks(made, query, STILL)
  const [was, now] = [old, made].map(({ values }) => vector(values, 'out', query, three))
  return say(made.recipe, was === now ? 'same' : 'output', { word: made.values.labels[query], new: now, old: was })
}

/** @param {On} on @param {number} i @param {number} now */
function looks(on, i, now) {
  const env = { i, now, t: look(on, i).tops[0] }
  return textOf(fill(on, env, choose(on, env, on.recipe.look))) + '.'
}

/** @param {Values} values @param {string} grid @param {number} row @param {(x: number) => string} write */
function vector(values, grid, row, write) {
  return Array.from({ length: values.shape(grid)[1] }, (_, c) => write(values.at(grid, row, c))).join(', ')
}

/** The numbers typed into cells of q, k and v, by "grid,i,c". @param {Sheet} sheet */
const detached = (sheet) => new Map(PROJECTED.flatMap((grid) => sheet.edited[grid].map(([i, c, value]) => /** @type {const} */ ([[grid, i, c].join(), value]))))

/** The slots are filled in one pass: a word may hold braces of its own. @param {Recipe} recipe @param {string} name @param {Record<string, string>} [slots] */
const say = (recipe, name, slots = {}) => recipe.change[name].replace(/\{(\w+)\}/g, (_, slot) => slots[slot])
