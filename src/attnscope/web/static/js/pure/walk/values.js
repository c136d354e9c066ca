// Every number of a sheet, by the recipe's rules: sums, products, quotients, exp, max and where. Nothing of attention is known here.

/** @typedef {import("./types.js").Sheet} Sheet */
/** @typedef {import("./types.js").Recipe} Recipe */
/** @typedef {import("./types.js").Ref} Ref */
/** @typedef {import("./types.js").Projected} Projected */
/** @typedef {import("./types.js").Values} Values */
/** The value of each index, by its letter. @typedef {Record<string, number>} Env */
/** @typedef {{numbers: Float64Array, shape: number[]}} Grid */

const INPUTS = /** @type {const} */ (['x', 'wq', 'wk', 'wv'])

/** @type {WeakMap<Sheet, Values>} */
const kept = new WeakMap()

/** Made once for each sheet. @param {Recipe} recipe @param {Sheet} sheet @returns {Values} */
export function evaluate(recipe, sheet) {
  const found = kept.get(sheet)
  if (found) return found
  const made = compute(recipe, sheet)
  kept.set(sheet, made)
  return made
}

/**
 * What a number is made of, each operand once, in the order of its rule; an input and a detached cell are made of nothing.
 * @param {Recipe} recipe @param {Sheet} sheet @param {Ref} ref @returns {Ref[]}
 */
export function operandsOf(recipe, sheet, ref) {
  const values = evaluate(recipe, sheet)
  /** @type {Map<string, Ref>} */
  const found = new Map()
  for (const one of traced(recipe, sheet, values, ref)) {
    const key = `${one.grid} ${one.at}`
    if (!found.has(key)) found.set(key, one)
  }
  return [...found.values()]
}

/** How far each index goes. @param {Values} values @returns {Env} */
export const sizesOf = (values) => ({ w: values.distinct, a: values.width, c: values.d, i: values.n, j: values.n })

/**
 * The number that an index stands for: w is the row of the word at i, a digit is itself.
 * @param {Values} values @param {string} index @param {Env} env
 */
export function place(values, index, env) {
  if (index in env) return env[index]
  return index === 'w' ? values.row(env.i) : Number(index)
}

/** @param {Recipe} recipe @param {Sheet} sheet @returns {Values} */
function compute(recipe, sheet) {
  const distinct = [...new Set(sheet.words)]
  const rows = sheet.words.map((word) => distinct.indexOf(word))
  /** @type {Record<string, Grid>} */
  const grids = {}
  for (const name of INPUTS) grids[name] = { numbers: Float64Array.from(sheet[name].flat()), shape: [sheet[name].length, sheet[name][0].length] }
  const values = /** @type {Values} */ ({
    n: sheet.words.length, d: sheet.wq[0].length, width: sheet.x[0].length, distinct: distinct.length, labels: labelsOf(recipe, sheet.words),
    at: (grid, ...at) => read(grids, grid, at),
    shape: (grid) => [...grids[grid].shape],
    row: (i) => rows[i],
    visible: (i, j) => !sheet.causal || j <= i,
  })
  for (const grid of Object.keys(recipe.rules)) grids[grid] = filled(recipe, sheet, values, grid)
  return values
}

/** @param {Record<string, Grid>} grids @param {string} name @param {number[]} at */
function read(grids, name, at) {
  const grid = grids[name]
  if (!grid) throw new RangeError(`there is no grid ${name}`)
  let flat = 0
  for (let axis = 0; axis < grid.shape.length; axis++) {
    if (!(at[axis] >= 0 && at[axis] < grid.shape[axis])) throw new RangeError(`${name}[${at}] is outside ${grid.shape.join(' × ')}`)
    flat = flat * grid.shape[axis] + at[axis]
  }
  return grid.numbers[flat]
}

/**
 * One grid, every place by its rule but for the detached cells.
 * @param {Recipe} recipe @param {Sheet} sheet @param {Values} values @param {string} grid @returns {Grid}
 */
function filled(recipe, sheet, values, grid) {
  const sizes = sizesOf(values)
  const axes = recipe.axes[grid]
  const shape = axes.map((axis) => sizes[axis])
  const numbers = new Float64Array(shape.reduce((product, size) => product * size, 1))
  const worth = compiled(recipe, sheet, values, recipe.rules[grid])
  /** @type {Env} */
  const env = {}
  for (let flat = 0; flat < numbers.length; flat++) {
    for (let axis = axes.length - 1, rest = flat; axis >= 0; axis--) {
      env[axes[axis]] = rest % shape[axis]
      rest = Math.floor(rest / shape[axis])
    }
    numbers[flat] = worth(env)
  }
  for (const [i, c, value] of sheet.edited[/** @type {Projected} */ (grid)] ?? []) numbers[i * shape[1] + c] = value
  return { numbers, shape }
}

/**
 * A rule as a function of its indices.
 * @param {Recipe} recipe @param {Sheet} sheet @param {Values} values @param {any} rule @returns {(env: Env) => number}
 */
function compiled(recipe, sheet, values, rule) {
  if (rule === '-inf') return () => -Infinity
  if (typeof rule === 'number') return () => rule
  const [head, ...rest] = rule
  if (recipe.axes[head]) return (env) => values.at(head, ...rest.map((/** @type {string} */ index) => place(values, index, env)))
  const of = (/** @type {any} */ inner) => compiled(recipe, sheet, values, inner)
  if (head === 'root') return () => recipe.roots[values.d - 1]
  if (head === 'where') {
    const [yes, no] = [of(rest[1]), of(rest[2])]
    return (env) => (holds(recipe, sheet, values, rest[0], env) ? yes(env) : no(env))
  }
  if (head === 'sum') return over(values, rest[0], of(rest[1]), 0, (sum, x) => sum + x)
  if (head === 'max') return over(values, rest[0], of(rest[1]), -Infinity, Math.max)
  const [left, right] = rest.map(of)
  switch (head) {
    case 'times': return (env) => left(env) * right(env)
    case 'over': return (env) => left(env) / right(env)
    case 'minus': return (env) => left(env) - right(env)
    case 'exp': return (env) => Math.exp(left(env))
    default: throw new RangeError(`there is no operation ${head}`)
  }
}

/**
 * A number for each place of an index, joined in their order.
 * @param {Values} values @param {string} index @param {(env: Env) => number} worth @param {number} first @param {(one: number, other: number) => number} join
 * @returns {(env: Env) => number}
 */
function over(values, index, worth, first, join) {
  const size = sizesOf(values)[index]
  return (env) => {
    let joined = first
    const inner = { ...env }
    for (inner[index] = 0; inner[index] < size; inner[index]++) joined = join(joined, worth(inner))
    return joined
  }
}

/** @param {Values} values @param {string} index @param {Env} env @returns {Env[]} */
const each = (values, index, env) => Array.from({ length: sizesOf(values)[index] }, (_, at) => ({ ...env, [index]: at }))

/** @param {Recipe} recipe @param {Sheet} sheet @param {Values} values @param {string} condition @param {Env} env */
function holds(recipe, sheet, values, condition, env) {
  if (condition === 'scaled') return sheet.scale
  if (condition === 'visible') return values.visible(env.i, env.j)
  return Math.abs(values.at('peaks', env.i)) > recipe.limits.far
}

/** @param {Recipe} recipe @param {Sheet} sheet @param {Values} values @param {Ref} ref @returns {Ref[]} */
function traced(recipe, sheet, values, ref) {
  const rule = recipe.rules[ref.grid]
  const edits = sheet.edited[/** @type {Projected} */ (ref.grid)] ?? []
  if (!rule || edits.some(([i, c]) => i === ref.at[0] && c === ref.at[1])) return []
  const env = Object.fromEntries(recipe.axes[ref.grid].map((axis, at) => [axis, ref.at[at]]))
  return refsIn(recipe, sheet, values, rule, env)
}

/** @param {Recipe} recipe @param {Sheet} sheet @param {Values} values @param {any} rule @param {Env} env @returns {Ref[]} */
function refsIn(recipe, sheet, values, rule, env) {
  if (!Array.isArray(rule) || rule[0] === 'root') return []
  const [head, ...rest] = rule
  const of = (/** @type {any} */ inner, here = env) => refsIn(recipe, sheet, values, inner, here)
  if (recipe.axes[head]) {
    const ref = { grid: head, at: rest.map((/** @type {string} */ index) => place(values, index, env)) }
    return recipe.hidden.includes(head) ? traced(recipe, sheet, values, ref) : [ref]
  }
  if (head === 'sum' || head === 'max') return each(values, rest[0], env).flatMap((here) => of(rest[1], here))
  if (head === 'where') return of(rest[holds(recipe, sheet, values, rest[0], env) ? 1 : 2])
  return rest.flatMap((/** @type {any} */ inner) => of(inner))
}

/** The words, those that stand more than once told apart: "the first cat". @param {Recipe} recipe @param {string[]} words */
function labelsOf(recipe, words) {
  const labels = words.map((word, i) => {
    const nth = words.slice(0, i + 1).filter((one) => one === word).length
    return words.filter((one) => one === word).length === 1 ? word : `the ${recipe.words.ordinals[nth]} ${word}`
  })
  return new Set(labels).size === labels.length ? labels : words.map((word, i) => `${word} (word ${i + 1})`)
}
