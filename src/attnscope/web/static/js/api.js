// The only place that talks to the server. Addresses are relative to the page, so a base path needs no setting.

import { block, sides } from './pure/decode.js'

/** @typedef {import("./types.js").Problem} Problem @typedef {import("./types.js").Offer} Offer @typedef {import("./types.js").Span} Span */

/** What the server refused, in its own words. */
export class ApiError extends Error {
  /** @param {Problem} problem @param {number} status 0 where no answer came */
  constructor(problem, status) {
    super(problem.message)
    this.title = problem.title
    this.hint = problem.hint ?? ''
    this.offer = problem.offer ?? null
    this.status = status
  }
}

/** Status of what is no fault: nobody asked yet, or the reader stopped it. */
export const CALM = 499

/** @param {unknown} error @returns {ApiError} */
export function asProblem(error) {
  if (error instanceof ApiError) return error
  return new ApiError({ title: 'The page could not read the answer', message: error instanceof Error ? error.message : String(error) }, 0)
}

/** @returns {Promise<{models: import("./types.js").Model[], default: import("./types.js").Sample}>} */
export const models = async () => (await ask('models')).json()

/** @param {string} model @param {string} text @param {string} [words] "mark" or "fold" for a run in words @returns {Promise<{id: string}>} */
export const start = async (model, text, words = '') =>
  (await ask('runs', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ model, text, words }) })).json()

/** @param {string} run @returns {Promise<import("./types.js").Progress>} */
export const progress = async (run) => (await ask(`runs/${run}`)).json()

/** @param {string} run */
export const cancel = (run) => ask(`runs/${run}`, { method: 'DELETE' })

/** Every head in order of sites, (heads, n, n). @param {string} run */
export const thumbnails = (run) => blockOf(`runs/${run}/thumbnails`)

/** The same of weight times value. @param {string} run */
export const valueThumbnails = (run) => blockOf(`runs/${run}/thumbnails?values=1`)

/** The address of the picture that positions of a stack are patches of. @param {string} run @param {string} stack */
export const picture = (run, stack) => new URL(`api/runs/${run}/pictures/${stack}`, document.baseURI).href

/** Weights of a block of cells, −1 where not visible. @param {string} run @param {number} site @param {number} head @param {Span} rows @param {Span} columns */
export const grid = (run, site, head, rows, columns) =>
  blockOf(`runs/${run}/sites/${site}/heads/${head}/grid?rows=${slice(rows)}&cols=${slice(columns)}`)

/** @param {string} run @param {number} site @param {number} head @param {number} i */
export const row = (run, site, head, i) => blockOf(`runs/${run}/sites/${site}/heads/${head}/row?i=${i}`)

/** @param {string} run @param {number} site @param {number} head @param {number} j */
export const column = (run, site, head, j) => blockOf(`runs/${run}/sites/${site}/heads/${head}/column?j=${j}`)

/** What stands along the sides: entropy per query, received per key … by name. @param {string} run @param {number} site @param {number} head */
export async function sidesOf(run, site, head) {
  const answer = await ask(`runs/${run}/sites/${site}/heads/${head}/sides`)
  return sides(await answer.arrayBuffer(), answer.headers.get('X-Layout'))
}

/** @param {string} run @param {number} site @param {number} head @param {number} i @param {number} j @returns {Promise<import("./types.js").Cell>} */
export const cell = async (run, site, head, i, j) => (await ask(`runs/${run}/sites/${site}/heads/${head}/cell?i=${i}&j=${j}`)).json()

/** The same of a run in words: between two words. @param {string} run @param {number} site @param {number} head @param {number} i @param {number} j @returns {Promise<import("./types.js").WordCell>} */
export const wordCell = async (run, site, head, i, j) => (await ask(`runs/${run}/sites/${site}/heads/${head}/cell?i=${i}&j=${j}`)).json()

/** Which map: of the weights of a head, or with `values` of weight times value. @typedef {{run: string, site: number, head: number, values: boolean}} OfMap */

/** @param {OfMap} of @param {string} [path] below it @param {Record<string, string|number>} [query] */
const mapPath = ({ run, site, head, values }, path = '', query = {}) => {
  const asked = new URLSearchParams(Object.entries({ ...query, ...(values ? { values: 1 } : {}) }).map(([name, value]) => [name, String(value)])).toString()
  return `runs/${run}/sites/${site}/heads/${head}/map${path}${asked && `?${asked}`}`
}

/** How far the map of a head is: it is made at the first question. @param {OfMap} of @returns {Promise<import("./types.js").MapProgress>} */
export const mapOf = async (of) => (await ask(mapPath(of))).json()

/** Gives up a map that is being made. @param {OfMap} of */
export const stopMap = (of) => ask(mapPath(of), { method: 'DELETE' })

/** The planes of a tile: largest, mean and sum of each pixel, or one plane where a pixel is a cell. @param {OfMap} of @param {import("./pure/map/view.js").Address} tile @param {AbortSignal} signal */
export const tile = (of, { level, row: r, col }, signal) => blockOf(mapPath(of, `/tiles/${level}/${r}/${col}`), { signal })

/** The largest cells of a head. @param {OfMap} of @param {{n: number, skipFirst: boolean, near: number}} wanted @returns {Promise<import("./types.js").LargeCell[]>} */
export const largestCells = async (of, { n, skipFirst, near }) => (await ask(mapPath(of, '/largest', { n, skip_first: skipFirst ? 1 : 0, near }))).json()

/** The largest weight times value of each query. @param {OfMap} of */
export const largestOfRows = (of) => blockOf(mapPath({ ...of, values: false }, '/rows'))

/** A head as a file: its content and its name. @param {string} run @param {number} site @param {number} head @param {string} form @param {boolean} values whether of weight times value @returns {Promise<{content: Blob, name: string}>} */
export const exported = (run, site, head, form, values) => fileOf(`runs/${run}/sites/${site}/heads/${head}/export/${form}${values ? '?values=1' : ''}`, `head.${form}`)

/** @param {string} run @param {number} i @param {number} top @returns {Promise<import("./types.js").Prediction>} */
export const next = async (run, i, top) => (await ask(`runs/${run}/next?i=${i}&top=${top}`)).json()

/** Why nothing of a site can be taken out, null where it can. @param {string} run @param {number} site @returns {Promise<{why_not: string|null}>} */
export const knockoutOf = async (run, site) => (await ask(`runs/${run}/sites/${site}/knockout`)).json()

/** Runs the model without one weight, or without i and j without the head. @param {string} run @param {{site: number, head: number, i: number|null, j: number|null, how: string}} wanted @returns {Promise<{id: string}>} */
export const knockout = async (run, wanted) =>
  (await ask(`runs/${run}/knockouts`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(wanted) })).json()

/** @param {string} run @param {string} id @returns {Promise<import("./types.js").Progress>} */
export const knockoutState = async (run, id) => (await ask(`runs/${run}/knockouts/${id}`)).json()

/** @param {string} run @param {string} id */
export const stopKnockout = (run, id) => ask(`runs/${run}/knockouts/${id}`, { method: 'DELETE' })

/** @param {string} run @param {string} id @param {number|null} i the position after which is told what is expected @returns {Promise<import("./types.js").Knocked>} */
export const knocked = async (run, id, i) => (await ask(`runs/${run}/knockouts/${id}/next?top=8${i === null ? '' : `&i=${i}`}`)).json()

/** How many cells a side of a comparison may have, and how many the recordings have. @returns {Promise<{most: number, cells: Record<string, number>}>} */
export const comparable = async () => (await ask('comparisons')).json()

/** @param {string} a @param {string} b two finished runs @param {string} align @returns {Promise<{id: string}>} */
export const compare = async (a, b, align) => (await ask('comparisons', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ a, b, align }) })).json()

/** @param {string} id @returns {Promise<import("./types.js").Progress>} */
export const comparison = async (id) => (await ask(`comparisons/${id}`)).json()

/** @param {string} id */
export const stopComparison = (id) => ask(`comparisons/${id}`, { method: 'DELETE' })

/** The heads of both by how much they differ. @param {string} id @returns {Promise<import("./types.js").Ranked>} */
export const compared = async (id) => (await ask(`comparisons/${id}/heads`)).json()

/** What stands in the slots of a head. @param {string} id @param {number} head its place in the list @returns {Promise<import("./types.js").Slots>} */
export const comparedSlots = async (id, head) => (await ask(`comparisons/${id}/heads/${head}/slots`)).json()

/** Both heads and their difference, (3, rows, columns). @param {string} id @param {number} head */
export const comparedPlanes = (id, head) => blockOf(`comparisons/${id}/heads/${head}/picture`)

/** The list, or a head with its fellow and the difference, as a file. @param {string} id @param {number} head @param {string} form @param {{by: string, scale: string}} how */
export const comparedFile = (id, head, form, { by, scale }) => fileOf(`comparisons/${id}/heads/${head}/export/${form}?by=${by}&scale=${scale}`, `heads.${form}`)

/** The tables of heads that there are, or can be made. @returns {Promise<{surveys: import("./types.js").SurveyEntry[]}>} */
export const surveys = async () => (await ask('heads')).json()

/** A table with what opens its heads. @param {string} of @returns {Promise<import("./pure/heads/table.js").Survey & {opens: import("./pure/heads/texts.js").Opening}>} */
export const survey = async (of) => (await ask(`heads/table?of=${encodeURIComponent(of)}`)).json()

/** The classes of the heads of a model, null where nothing is known of them. @param {string} model @returns {Promise<import("./pure/heads/classes.js").Known|null>} */
export const classes = async (model) => (await ask(`heads/classes?of=${encodeURIComponent(model)}`)).json()

/** Measures every head of a model or recording. @param {string} of @returns {Promise<{id: string}>} */
export const measureHeads = async (of) =>
  (await ask('heads', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ of }) })).json()

/** @param {string} id @returns {Promise<import("./types.js").Progress>} */
export const surveyState = async (id) => (await ask(`heads/jobs/${id}`)).json()

/** @param {string} id */
export const stopSurvey = (id) => ask(`heads/jobs/${id}`, { method: 'DELETE' })

/** A table of heads as a file; a picture is its scatter. @param {string} of @param {string} form @param {{x: string, y: string, chosen: string}} view */
export const surveyFile = (of, form, { x, y, chosen }) => fileOf(`heads/export/${form}?${new URLSearchParams({ of, x, y, head: chosen })}`, `heads.${form}`)

/** The experiments of a chapter of the lesson. @param {number} number @returns {Promise<import("./lesson/types.js").Chapter>} */
export const lesson = async (number) => (await ask(`lesson/${number}`)).json()

/** @param {number} budget MB @param {number} longest tokens @returns {Promise<{id: string}>} */
export const measure = async (budget, longest) =>
  (await ask('measure', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ budget_mb: budget, longest }) })).json()

/** @param {string} id @returns {Promise<import("./views/lesson/measure.js").Measured>} */
export const measured = async (id) => (await ask(`measure/${id}`)).json()

/** @param {string} id */
export const stopMeasuring = (id) => ask(`measure/${id}`, { method: 'DELETE' })

/** @param {string} path @param {string} named what it is called where the server does not say */
async function fileOf(path, named) {
  const answer = await ask(path)
  const name = /filename="([^"]+)"/.exec(answer.headers.get('Content-Disposition') ?? '')?.[1] ?? named
  return { content: await answer.blob(), name }
}

/** @param {string} path @param {RequestInit} [options] */
async function blockOf(path, options) {
  const answer = await ask(path, options)
  return block(await answer.arrayBuffer(), answer.headers.get('X-Shape'))
}

/** @param {Span} span */
const slice = ({ start: first, size }) => `${first}:${first + size}`

/** @param {string} path @param {RequestInit} [options] @returns {Promise<Response>} */
async function ask(path, options) {
  let answer
  try {
    answer = await fetch(new URL(`api/${path}`, document.baseURI), options)
  } catch {
    throw new ApiError({ title: 'The server does not answer', message: 'attnscope runs on this machine; it may have been stopped.', hint: 'Start it again with: attnscope app' }, 0)
  }
  if (answer.ok) return answer
  const problem = await answer.json().then((body) => body.error, () => null)
  throw new ApiError(problem ?? { title: 'The server could not answer', message: `It said ${answer.status} to ${path}.` }, answer.status)
}
