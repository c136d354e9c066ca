// The arithmetic of one weight as lines that add up: rounded figures, and what the rounding itself leaves over.

import { count, fixed, four, number, small, weight7 } from './number.js'

/** @typedef {import("../types.js").Cell} Cell */
/** @typedef {{label: string, how: string, value: string, kind?: "sum"|"big"|"none"|"more"|"bad"}} Line */
/** @typedef {{id: string, title: string, aside: string, lines: Line[], result: string}} Section */

export const PLACES = 4
const SHOWN_TERMS = 4

/** Dimensions in order of the size of their term, largest first. @param {number[]} terms */
export function byTerm(terms) {
  return terms.map((_, d) => d).sort((a, b) => Math.abs(terms[b]) - Math.abs(terms[a]) || a - b)
}

/**
 * What must be added to the figures as they are written, so that they make the total as it is written.
 * @param {number[]} parts @param {number} total @returns {number} a multiple of 10^-PLACES
 */
export function roundingOf(parts, total) {
  const unit = 10 ** PLACES
  const written = parts.reduce((sum, part) => sum + Math.round(Number(part.toFixed(PLACES)) * unit), 0)
  return (Math.round(Number(total.toFixed(PLACES)) * unit) - written) / unit
}

/** @param {Cell} cell @param {boolean} [all] every term instead of the four largest @returns {Section[]} */
export function sections(cell, all = false) {
  return [productSection(cell, all), scoreSection(cell), weightSection(cell), valueSection(cell)]
}

/** @param {Cell} cell @param {boolean} all @returns {Section} */
function productSection(cell, all) {
  const order = byTerm(cell.terms)
  const shown = all ? order : order.slice(0, SHOWN_TERMS)
  const rest = order.slice(shown.length)
  const total = number(cell.products)
  /** @type {Line[]} */
  const lines = shown.map((d) => ({ label: `d = ${d}`, how: `${four(cell.q[d])} × ${four(cell.k[d])}`, value: four(cell.terms[d]) }))
  const figures = shown.map((d) => cell.terms[d])
  const more = rest.reduce((sum, d) => sum + cell.terms[d], 0)
  if (rest.length) {
    figures.push(more)
    lines.push({ label: `${count(rest.length)} more`, how: '', value: four(more), kind: 'more' })
  }
  lines.push({ label: 'sum', how: roundingWord(figures, total), value: four(total), kind: 'sum' })
  return { id: 'product', title: 'Product q · k', aside: `${count(cell.d)} terms`, lines, result: four(total) }
}

/** @param {Cell} cell @returns {Section} */
function scoreSection(cell) {
  /** @type {Line[]} */
  const lines = [
    { label: 'scale', how: scaleWord(cell), value: four(number(cell.scaled)) },
    cell.softcap === null
      ? none('softcap', 'none in this model')
      : { label: 'softcap', how: `${plain(cell.softcap)} × tanh(x ÷ ${plain(cell.softcap)})`, value: four(number(cell.capped)) },
    cell.bias === null ? none('bias', 'none in this model') : { label: 'bias', how: 'added to the score', value: four(number(cell.bias)) },
    cell.visible
      ? { label: 'mask', how: 'visible' + reason(cell), value: '–', kind: 'none' }
      : { label: 'mask', how: 'not visible' + reason(cell), value: '−∞' },
  ]
  return { id: 'score', title: 'Score', aside: '', lines, result: four(number(cell.score)) }
}

/** @param {Cell} cell @returns {Section} */
function weightSection(cell) {
  const score = number(cell.score)
  const lse = number(cell.lse)
  const shown = number(cell.shown)
  const how = `of row ${count(cell.i)}, ${count(cell.row_keys)} ${cell.row_keys === 1 ? 'key' : 'keys'}${cell.sink === null ? '' : ' and sink'}`
  if (!cell.visible) {
    return {
      id: 'weight', title: 'Weight', aside: 'exp(score − lse)', result: '0',
      lines: [{ label: 'score', how: 'not visible', value: '−∞' }, { label: 'lse', how, value: four(-lse) }, { label: 'weight', how: 'exp(−∞)', value: '0', kind: 'big' }],
    }
  }
  // exp((score − peak) − logsum) is the weight; score − lse is the same number written with one term fewer
  const difference = score - number(cell.peak) - number(cell.logsum)
  const lines = /** @type {Line[]} */ ([
    { label: 'score', how: '', value: four(score) },
    { label: 'lse', how, value: four(-lse) },
    { label: 'difference', how: roundingWord([score, -lse], difference), value: four(difference), kind: 'sum' },
    { label: 'weight', how: `exp(${four(difference)})`, value: four(shown), kind: 'big' },
  ])
  return { id: 'weight', title: 'Weight', aside: 'exp(score − lse)', lines, result: four(shown) }
}

/** @param {Cell} cell @returns {Section} */
function valueSection(cell) {
  if (cell.mix === null || cell.value === null) {
    return { id: 'value', title: 'Value mix', aside: '', lines: [none('', 'the values were not kept')], result: '–' }
  }
  const mix = number(cell.mix)
  const how = `${cell.visible ? four(number(cell.shown)) : '0'} × length of v ${fixed(number(cell.value), PLACES)}`
  const lines = [{ label: '', how, value: four(mix) }]
  if (!Number.isFinite(number(cell.length)) || cell.through === null) return { id: 'value', title: 'Value mix', aside: 'moves out by', lines, result: four(mix) }
  const weight = cell.visible ? number(cell.shown) : 0
  const after = weight * number(cell.length)
  lines.push({ label: '', how: `${four(weight)} × length of v W_O ${fixed(number(cell.length), PLACES)}`, value: four(after) })
  return { id: 'value', title: 'Value mix', aside: 'moves out by', lines, result: four(after) }
}

/** The line under a receipt: whether float64 terms give the shown weight. @param {Cell} cell @returns {{ok: boolean, text: string}} */
export function verdict(cell) {
  if (!cell.visible) return { ok: true, text: 'Not visible: the weight is exactly 0 and was never computed.' }
  const figures = `${weight7(number(cell.recomputed))} from the terms in float64, ${weight7(number(cell.shown))} shown`
  const difference = number(cell.difference)
  const gap = difference === 0 ? 'no difference' : `difference ${small(difference)}`
  const allowed = Number.isFinite(number(cell.allowed)) ? `; the model’s rounding allows ${small(number(cell.allowed))}` : ''
  if (cell.readds) return { ok: true, text: `The terms re-add to the shown weight: ${figures}, ${gap}${allowed}.` }
  return { ok: false, text: `The terms do not re-add to the shown weight: ${figures}, ${gap}${allowed}.` }
}

/** @param {number[]} parts @param {number} total */
function roundingWord(parts, total) {
  if (![...parts, total].every(Number.isFinite)) return ''
  const left = roundingOf(parts, total)
  return left === 0 ? '' : `rounding ${four(left)}`
}

/** @param {Cell} cell */
function scaleWord(cell) {
  const root = Math.sqrt(cell.d)
  const usual = Math.abs(cell.scale * root - 1) < 1e-6
  return usual ? `× 1 ÷ √${cell.d} = ${four(cell.scale)}` : `× ${four(cell.scale)}`
}

/** @param {Cell} cell */
const reason = (cell) => (cell.why ? `, ${cell.why.replaceAll('<=', '≤').replaceAll('>=', '≥')}` : '')

/** @param {number} x */
const plain = (x) => String(x).replace('-', '−')

/** @param {string} label @param {string} how @returns {Line} */
function none(label, how) {
  return { label, how, value: '–', kind: 'none' }
}
