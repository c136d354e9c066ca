// Shapes of the walk: the sheet a reader edits, the recipe that Python sends, and the steps made of both. No code.

/** @typedef {"q"|"k"|"v"} Projected */
/** A detached cell: position, component, number. @typedef {[number, number, number]} Edit */
/**
 * An example as it is saved: one row of x for each distinct word, in order of first appearance.
 * @typedef {{format: "attnscope-walk", version: 1, words: string[], x: number[][], wq: number[][], wk: number[][], wv: number[][],
 *   edited: Record<Projected, Edit[]>, causal: boolean, scale: boolean}} Sheet
 */

/**
 * One number on the page: x[w,a]; wq, wk, wv[a,c]; q, k, v[i,c]; products, scaled, scores, exps, weights[i,j]; sums, wholes[i]
 * (a row’s exponentials and its weights, added);
 * parts[i,j,c]; out[i,c].
 * @typedef {{grid: string, at: number[]}} Ref
 */
/** A piece of a sentence; `ref` is the number that it writes, `word` the position of the word that it names. */
/** @typedef {{text: string, strong?: boolean, ref?: Ref, word?: number}} Piece */
/** @typedef {"project"|"score"|"scale"|"mask"|"normalise"|"mix"} Stage */
/** The part of the formula at work. @typedef {"qkv"|"product"|"root"|"mask"|"softmax"|"values"} Part */
/**
 * One step for one query: number counts from 1 over the whole walk, index from 1 within its stage of `of` steps. guess is the
 * number that a reader may predict before it, and ask the question ("" where there is none).
 * @typedef {{number: number, stage: Stage, index: number, of: number, name: string, part: Part, operands: Ref[], results: Ref[],
 *   sentence: Piece[], guess: Ref|null, ask: string}} Step
 */
/**
 * Every number of a sheet. `at` throws on an unknown grid or a place outside it; `row` is the row of x of the word at a position;
 * `labels` name the words so that two alike are told apart ("the first cat").
 * @typedef {{n: number, d: number, width: number, distinct: number, labels: string[], at: (grid: string, ...at: number[]) => number,
 *   visible: (i: number, j: number) => boolean, row: (i: number) => number, shape: (grid: string) => number[]}} Values
 */

/** Arithmetic as data: [operation, ...]. @typedef {any[]} Rule */
/** A sentence as data: text, and slots to fill. @typedef {(string|Record<string, any>)[]} Template */
/** One of several templates: the first whose condition holds. @typedef {{when: string, say: Template}} Case */
/**
 * A step, or one for every j where over is "j". Of each group of cases the first that holds is said.
 * @typedef {{stage: Stage, part: Part, over: string, name: Template, results: string[], sentence: Case[][], guess: string[], ask: Case[]}} StepRule
 */
/**
 * What Python sends: the axes of the grids, the rules in the order of their evaluation, the forms of the numbers, steps, sentences,
 * limits, and spare words with their rows. "hidden" grids have no cell; roots are √d for d = 1 to 8.
 * @typedef {{version: number, axes: Record<string, string[]>, rules: Record<string, Rule>, hidden: string[], roots: number[],
 *   forms: Record<string, string>, stages: {name: Stage, title: string, part: Part}[], steps: StepRule[], look: Case[],
 *   change: Record<string, string>, guess: Record<string, string>, words: {counts: string[], ordinals: string[]},
 *   limits: {words: [number, number], depth: [number, number], width: [number, number], characters: number, largest: number,
 *     far: number, few: number, same: number, about: number},
 *   spare: {words: string[], wq: number[][], wk: number[][], wv: number[][]}}} Recipe
 */

export {}
