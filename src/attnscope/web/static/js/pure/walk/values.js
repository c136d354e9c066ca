// Every number of a sheet, by the recipe's rules: sums, products, quotients, exp, max and where. Nothing of attention is known here.

/** @typedef {import("./types.js").Sheet} Sheet */
/** @typedef {import("./types.js").Recipe} Recipe */
/** @typedef {import("./types.js").Ref} Ref */
/** @typedef {import("./types.js").Rule} Rule */
/** @typedef {import("./types.js").Values} Values */
/** The value of each index, by its letter. @typedef {Record<string, number>} Env */
/** @typedef {{numbers: Float64Array, shape: number[]}} Grid */

const INPUTS = /** @type {const} */ (['x', 'wq', 'wk', 'wv'])
const PROJECTED = /** @type {const} */ (['q', 'k', 'v'])

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

/** The numbers typed into cells of q, k and v, by "grid,i,c". @param {Sheet} sheet */
export function detached(sheet) {
  /** @type {Map<string, number>} */
  const cells = new Map()
  for (const grid of PROJECTED) {
    for (const [i, c, value] of sheet.edited[grid] ?? []) cells.set([grid, i, c].join(), value)
  }
  return cells
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
  const cells = detached(sheet)
  for (const [grid, rule] of Object.entries(recipe.rules)) grids[grid] = filled(recipe, sheet, values, cells, grid, rule)
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
 * @param {Recipe} recipe @param {Sheet} sheet @param {Values} values @param {Map<string, number>} cells @param {string} grid @param {Rule} rule
 * @returns {Grid}
 */
function filled(recipe, sheet, values, cells, grid, rule) {
  const sizes = sizesOf(values)
  const axes = recipe.axes[grid]
  const shape = axes.map((axis) => sizes[axis])
  const numbers = new Float64Array(shape.reduce((product, size) => product * size, 1))
  for (let flat = 0; flat < numbers.length; flat++) {
    /** @type {Env} */
    const env = {}
    for (let axis = axes.length - 1, rest = flat; axis >= 0; axis--) {
      env[axes[axis]] = rest % shape[axis]
      rest = Math.floor(rest / shape[axis])
    }
    const own = cells.get([grid, ...axes.map((axis) => env[axis])].join())
    numbers[flat] = own ?? worth(recipe, sheet, values, rule, env)
  }
  return { numbers, shape }
}

/** @param {Recipe} recipe @param {Sheet} sheet @param {Values} values @param {any} rule @param {Env} env @returns {number} */
function worth(recipe, sheet, values, rule, env) {
  if (rule === '-inf') return -Infinity
  if (typeof rule === 'number') return rule
  const [head, ...rest] = rule
  const of = (/** @type {any} */ inner, here = env) => worth(recipe, sheet, values, inner, here)
  if (recipe.axes[head]) return values.at(head, ...rest.map((/** @type {string} */ index) => place(values, index, env)))
  switch (head) {
    case 'root': return recipe.roots[values.d - 1]
    case 'times': return of(rest[0]) * of(rest[1])
    case 'over': return of(rest[0]) / of(rest[1])
    case 'minus': return of(rest[0]) - of(rest[1])
    case 'exp': return Math.exp(of(rest[0]))
    case 'where': return of(rest[holds(recipe, sheet, values, rest[0], env) ? 1 : 2])
    case 'sum': return each(values, rest[0], env).reduce((sum, here) => sum + of(rest[1], here), 0)
    case 'max': return Math.max(...each(values, rest[0], env).map((here) => of(rest[1], here)))
    default: throw new RangeError(`there is no operation ${head}`)
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
  if (!rule || detached(sheet).has([ref.grid, ...ref.at].join())) return []
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
