// Filling the recipe's templates: the words and numbers of a sheet, in pieces that know which number they write.

import { SMALLEST, thousandths, three, written } from './format.js'
import { place, sizesOf } from './values.js'

/** @typedef {import("./types.js").Sheet} Sheet */
/** @typedef {import("./types.js").Recipe} Recipe */
/** @typedef {import("./types.js").Values} Values */
/** @typedef {import("./types.js").Template} Template */
/** @typedef {import("./types.js").Case} Case */
/** @typedef {import("./types.js").Piece} Piece */
/** @typedef {import("./values.js").Env} Env */
/** What a template is filled from. @typedef {{recipe: Recipe, sheet: Sheet, values: Values}} On */
/** The kind of a row, and the keys that it looks at most. @typedef {{kind: string, tops: number[], sees: number}} Look */

const NOW = ['', 'now ', 'still ']
/** @type {WeakMap<Values, Look[]>} what each row looks at, found once */
const looks = new WeakMap()

/** The first template whose condition holds, or an empty one. @param {On} on @param {Env} env @param {Case[]} cases @returns {Template} */
export const choose = (on, env, cases) => cases.find((one) => holds(on, one.when, env))?.say ?? []

/** A template's pieces, neighbours of one kind joined. @param {On} on @param {Env} env @param {Template} template @returns {Piece[]} */
export function fill(on, env, template) {
  /** @type {Piece[]} */
  const joined = []
  for (const piece of pieces(on, env, template)) {
    const last = joined[joined.length - 1]
    if (last && isPlain(last) && isPlain(piece) && !last.strong === !piece.strong) joined[joined.length - 1] = { ...last, text: last.text + piece.text }
    else joined.push(piece)
  }
  return joined
}

/** @param {Piece[]} parts */
export const textOf = (parts) => parts.map((piece) => piece.text).join('')

/** What position i looks at: "mostly" only where it is true. @param {On} on @param {number} i @returns {Look} */
export function look(on, i) {
  const rows = looks.get(on.values) ?? []
  looks.set(on.values, rows)
  rows[i] ??= found(on, i)
  return rows[i]
}

/** @param {On} on @param {number} i @returns {Look} */
function found({ recipe, values }, i) {
  const seen = indices(values.n).filter((j) => values.visible(i, j))
  const row = seen.map((j) => values.at('weights', i, j))
  const most = Math.max(...row)
  const least = Math.min(...row)
  const tops = seen.filter((_, at) => three(row[at]) === three(most))
  return { kind: kindOf(recipe, most, least, seen.length, tops.length), tops, sees: seen.length }
}

/** @param {Recipe} recipe @param {number} most @param {number} least @param {number} sees @param {number} tops */
function kindOf({ limits }, most, least, sees, tops) {
  if (sees === 1) return 'only'
  if (most - least < limits.same) return 'even'
  if (tops === sees) return 'alike'
  if (most <= limits.about * least + limits.same) return 'about'
  if (three(most) === '1.000') return 'almost'
  if (most > 0.5 + limits.same && tops === 1) return 'mostly'
  return tops > 1 ? 'equally' : 'most'
}

/** @param {On} on @param {Env} env @param {Template} template @returns {Piece[]} */
function pieces(on, env, template) {
  return template.flatMap((element) => {
    if (typeof element === 'string') return [{ text: element }]
    if ('strong' in element) return pieces(on, env, element.strong).map((piece) => ({ ...piece, strong: true }))
    if ('number' in element) return [numberOf(on, env, element)]
    if ('each' in element) return eachOf(on, env, element)
    if ('fact' in element) return [{ text: fact(on, element.fact, env) }]
    return [{ text: on.values.labels[env[element.word]], word: env[element.word] }]
  })
}

/** @param {On} on @param {Env} env @param {Record<string, any>} element @returns {Piece} */
function numberOf({ recipe, values }, env, element) {
  const grid = element.number
  const at = element.at.map((/** @type {string} */ index) => place(values, index, env))
  const text = written(recipe, grid, values.at(grid, ...at), element.as)
  return recipe.hidden.includes(grid) ? { text } : { text, ref: { grid, at } }
}

/** @param {On} on @param {Env} env @param {Record<string, any>} element @returns {Piece[]} */
function eachOf(on, env, element) {
  const envs = indices(sizesOf(on.values)[element.each]).map((at) => ({ ...env, [element.each]: at }))
  const held = envs.filter((one) => holds(on, element.where ?? '', one))
  return held.flatMap((one, at) => {
    const inner = pieces(on, one, element.of)
    return at ? [{ text: joint(element.join, at, held.length) }, ...inner] : inner
  })
}

/** "and" before the last of a list, commas before. @param {string} join @param {number} at @param {number} of */
function joint(join, at, of) {
  if (join !== 'and') return join
  return at === of - 1 ? ' and ' : ', '
}

/** A fact as a text. @param {On} on @param {string} name @param {Env} env @returns {string} */
function fact(on, name, env) {
  if (name === 'd') return String(on.values.d)
  if (name === 'now') return NOW[env.now]
  if (name === 'sees') return on.recipe.words.counts[look(on, env.i).sees]
  if (name === 'shown') return (shown(on.values, env.i) / 1000).toFixed(3).replace(/^0/, '')
  const { tops } = look(on, env.i)
  return tops.map((j, at) => (at ? joint('and', at, tops.length) : '') + (j === env.i ? 'itself' : on.values.labels[j])).join('')
}

/** Whether every word of "visible and not self" holds. @param {On} on @param {string} condition @param {Env} env */
function holds(on, condition, env) {
  return condition.split(' and ').every((part) => !part || (part.startsWith('not ') ? !holdsOne(on, part.slice(4), env) : holdsOne(on, part, env)))
}

/** @param {On} on @param {string} part @param {Env} env @returns {boolean} */
function holdsOne(on, part, env) {
  const { sheet, values, recipe } = on
  const { i, j } = env
  const [name, what] = part.split(' ')
  switch (name) {
    case 'looks': return look(on, i).kind === what
    case 'typed': return editsOf(sheet, what).some((cell) => cell[0] === (what === 'q' ? i : j))
    case 'any': return editsOf(sheet, what).length > 0
    case 'visible': return values.visible(i, j)
    case 'hidden': return !values.visible(i, j)
    case 'self': return i === j
    case 'first': return j === 0
    case 'last': return j === values.n - 1
    case 'scaled': return sheet.scale
    case 'causal': return sheet.causal
    case 'shifted': return values.at('shifts', i) !== 0
    case 'gone': return values.visible(i, j) && values.at('exps', i, j) < SMALLEST
    case 'faded': return values.visible(i, j) && values.at('weights', i, j) < SMALLEST
    case 'shallow': return values.d === 1
    case 'few': return values.n * values.d <= recipe.limits.few
    case 'alone': return look(on, i).sees === 1
    case 'round': return shown(values, i) === 1000
    case 'inward': return look(on, i).tops[0] === i
    default: throw new RangeError(`there is no condition ${part}`)
  }
}

/** @param {Sheet} sheet @param {string} grid */
const editsOf = (sheet, grid) => sheet.edited[/** @type {import("./types.js").Projected} */ (grid)] ?? []

/** What the row's weights add up to as they are written, in thousandths. @param {Values} values @param {number} i */
const shown = (values, i) => indices(values.n).reduce((sum, j) => sum + thousandths(values.at('weights', i, j)), 0)

/** @param {Piece} piece */
const isPlain = (piece) => !piece.ref && piece.word === undefined

/** @param {number} size */
const indices = (size) => Array.from({ length: size }, (_, at) => at)
