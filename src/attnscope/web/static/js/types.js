// Shapes of everything the server sends and the page keeps. No code: the type checker reads this file, the browser never does.

/** @typedef {{id: string, label: string, context: number, unit: "character"|"token", layers: number, heads: number, kind: string, recorded?: boolean}} Model recorded: shown from its recording, without a text */
/** @typedef {{model: string, text: string}} Sample */
/** @typedef {"text"|"space"|"newline"|"tab"|"byte"|"special"|"place"} TokenKind place: a position without a token, known by its number */
/** @typedef {{i: number, id: number, text: string, kind: TokenKind, bytes: string[]|null, continues: boolean, spoken: string, places?: number[]}} Token places: of a word, the tokens it is made of */
/**
 * What stands along a side of a site. generated: the first position that the model wrote; grid: rows and columns of patches of a
 * picture, `before` positions before them.
 * turns: of a chat, who speaks in [first, end).
 * @typedef {{stack: "decoder"|"encoder", tokens: Token[], generated: number|null, grid: [number, number]|null, before: number, turns: {role: string, first: number, end: number}[]}} Axis
 */
/** @typedef {"encoder"|"decoder"|"cross"} Group */
/** What the rows of a site see. padding: columns that no row sees, [first, end]. @typedef {{form: string, words: string, width: number|null, left: number|null, right: number|null, padding: [number, number][], rows: [number, number]|null, documents: [number, number][]}} Sight */
/** @typedef {{verdict: "passed"|"refused"|"not certifiable"|"not kept", z: number|null, rms: number|null, t: number|null, reason: string|null}} Verdict */
/**
 * One call of an attention module.
 * @typedef {{site: number, layer: number, kind: "self"|"cross", stack: "decoder"|"encoder", name: string, heads: number,
 *   key_heads: number, d: number|null, tq: number, tk: number, rows: string, columns: string, offset: number|null, causal: boolean,
 *   sight: Sight, sinks: boolean, picture: [number, number], not_drawn: string|null, keep: string, route: string, dtype: string,
 *   bit_exact: boolean|null, lengths: {through: string|null, why: string|null}, allowed: {z: number, rms: number, t: number}|null, entropy: (number|null)[], certificate: Verdict[],
 *   held?: [number, number]}} Site
 * lengths: the layer with W_O, null where the heads are given away as they are, and why lengths of values are not known.
 * rows, columns: names of axes; held: the rows that are at hand, where not all are; picture: rows and columns of its small pictures; not_drawn: why no weight can be
 */
/** @typedef {{layer: number, name: string, reason: string}} Missing */
/**
 * What a finished run holds beside its arrays.
 * @typedef {{model: Model, text: string, places: Record<string, Axis>, unit: "character"|"token", bit_equal: boolean|null, sites: Site[],
 *   missing: Missing[], certificate: {heads: number, passed: number, largest_z: number|null, allowed_z: number|null}, predicts: boolean}} Result
 */
/** @typedef {{label: string, text: string}} Offer */
/** @typedef {{title: string, message: string, hint?: string, offer?: Offer|null}} Problem */
/**
 * @typedef {{id: string, state: "waiting"|"loading"|"running"|"done"|"failed"|"cancelled", step: string, done: number, total: number,
 *   seconds_left: number|null, error: Problem|null, result: Result|null}} Progress
 */
/**
 * The arithmetic of one weight. A number that is not finite travels as a string ("-inf").
 * @typedef {number|string} Num
 * @typedef {{layer: number, head: number, i: number, j: number, d: number, q: number[], k: number[], terms: number[],
 *   products: Num, scale: number, scaled: Num, softcap: number|null, capped: Num|null, bias: Num|null, visible: boolean, why: string,
 *   score: Num, peak: Num, logsum: Num, lse: Num, recomputed: Num, shown: Num, difference: Num, allowed: Num, readds: boolean,
 *   rank: number|null, row_keys: number, sink: number|null, value: Num|null, mix: Num|null, length: Num|null, through: string|null, v: number[]|null, part: number[]|null}} Cell value to part are null where the values were not kept; length: |v W_O|, null where it is not known; through: the layer with W_O, null where there is none, and length that of v
 */
/** A weight between two words: weights of queries x keys, sums of each query. @typedef {{i: number, j: number, queries: number[], keys: number[], weights: number[][], sums: number[], shown: number}} WordCell */
/** A pair of heads: mean and largest total variation of a row, the row of it, rows without a fellow. @typedef {{name: string, layer: number, head: number, name_b: string, layer_b: number, head_b: number, mean: number|null, largest: number|null, row_a: number|null, row_b: number|null, rows: number, rows_a: number, rows_b: number, lost_a: number|null, lost_b: number|null}} HeadDifference */
/** @typedef {{a: string, b: string, align: string, heads: HeadDifference[], left_out: string[]}} Ranked */
/** @typedef {{at: number, text: string, role: string|null}} SlotSide its first position, its marked text, and who speaks there in a chat */
/** @typedef {{a: SlotSide|null, b: SlotSide|null}} Slot what stands there on each side */
/** @typedef {{cells: number, align: string, rows: Slot[], columns: Slot[]}} Slots cells: slots along a side of a pixel */
/** @typedef {{after: number, entropy: number, top: {token: Token, p: number}[]}} Prediction */
/** A table of heads that is there or can be made. job: of one that is under way. @typedef {{id: string, label: string, kind: "file"|"model"|"recording", job: string|null, measured: boolean}} SurveyEntry */
/** @typedef {{id: number, token: Token, before: number, after: number}} KnockedToken a token that may come next: its probability before and without */
/**
 * What a knock-out tells. kl, variation, realised: of the position that was asked for, in nats; share: of hidden states, at every position.
 * @typedef {{taken_out: {weight: number|null, words: string}[], nothing: {bit_equal: boolean, largest: number}, warning: string, answers: "logits"|"states", share?: (number|null)[],
 *   next: {position: number, kl?: number, variation?: number, realised?: number|null, before?: KnockedToken[], after?: KnockedToken[]}}} Knocked
 */
/** @typedef {{values: Float32Array, shape: number[]}} Block */
/** @typedef {Record<string, Float32Array>} Sides */

/** @typedef {"linear"|"log"|"row"|"rank"} ScaleName */
/** @typedef {"at"|"by"} Way */
/**
 * What a link to any page over a run holds.
 * @typedef {{model: string|null, text: string|null, site: number|null, layer: number|null, head: number|null, i: number|null,
 *   j: number|null, values: boolean, theme: "light"|"dark"|null}} Shared values: the second picture, weight times value
 */
/** All that a link to Explore holds. words: "" shows tokens, "mark" words, "fold" words with special tokens as one. @typedef {Shared & {scale: ScaleName, way: Way, hide: boolean, words: ""|"mark"|"fold"}} State */
/**
 * All that a link to the map holds. pixel: what a pixel stands for; view: null is the whole grid; list: the largest cells apart from the first token and the diagonal, or all.
 * @typedef {Shared & {pixel: "max"|"mean"|"sum", scale: ScaleName, view: import("./pure/map/view.js").View|null, marks: boolean, list: "apart"|"all"}} MapState
 */
/** The map of a head. done, total: rows. tile: pixels along its side; levels: 0 to levels − 1. kept_from: cells along a pixel's side from which on tiles wait until it is made. @typedef {{state: "making"|"ready"|"failed", done: number, total: number, tile: number, levels: number, kept_from: number, error: Problem|null}} MapProgress */
/** @typedef {{weight: number, i: number, j: number}} LargeCell */
/** @typedef {{start: number, size: number}} Span */
/** @typedef {(weight: number, row: number) => number} Scale */
/** @typedef {import("./pure/colour.js").ColourMap} ColourMap */

export {}
