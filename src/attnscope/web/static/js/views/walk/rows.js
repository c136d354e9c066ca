// The rows of the walk: one a key, one column a stage. The same row is the same word all the way to the right.

import { attr, css, h, put, say } from '../../dom.js'
import { three, two, typed } from '../../pure/walk/format.js'
import { mountNumber, mountVector } from './cells.js'
import { keyOf, made } from './model.js'
import { mountSum } from './sum.js'
import { mountVectorField } from './vectorfield.js'

/** @typedef {import("./model.js").Model} Model @typedef {import("./vectorfield.js").OnVector} OnVector */

const ROOM = 5.5 // digits of a component of a part

/** @param {string} stage @param {...import("../../dom.js").Child} children */
export const cell = (stage, ...children) => h('div', { class: stage, role: 'cell' }, ...children)
/** A row of the table: its cells stand in the columns of the whole. @param {...Node} cells */
export const row = (...cells) => h('div', { class: 'row', role: 'row' }, ...cells)
/** A word as it stands before its row; told apart by its position from another that looks like it. @param {Model} model @param {number} at */
export function wordOf({ words }, at) {
  const twin = words.indexOf(words[at]) !== words.lastIndexOf(words[at])
  return [h('bdi', { class: 'word' }, words[at]), twin && h('sub', {}, String(at))]
}

/** The row of the query: what it asks with, and what each stage does with it. @param {number} d @param {OnVector} on */
export function mountAsking(d, on) {
  const word = h('div', { class: 'k op cur', role: 'rowheader' })
  const query = mountVectorField('q', d, on)
  const says = Array.from({ length: 5 }, () => h('span', {}))
  const sum = mountNumber({ stage: 4 })
  says[3].append('row sum ', sum.el)
  return {
    el: row(word, cell('op s0', query.el, h('span', { class: 'small faint asks' }, 'asks')), ...says.map((one, at) => cell(`op s${at + 1}`, one))),
    /** @param {Model} model */
    update(model) {
      const { sheet, query: i, values, recipe } = model
      put(word, ...wordOf(model, i))
      query.update(model, i)
      const q = Array.from({ length: d }, (_, c) => values.at('q', i, c))
      say(says[0], d <= 2 ? q.map((x, c) => `${typed(x)} × k${'₁₂'[c]}`).join(' + ') : `${d} products, added`)
      say(says[1], sheet.scale ? `÷ √${d} = ${three(recipe.roots[d - 1])}` : 'not divided')
      say(says[2], sheet.causal ? `causal: j ≤ ${i}` : 'none')
      const { here } = sum.update(model, 'sums', i)
      says[3].classList.toggle('later', !here)
      attr(says[3], 'aria-hidden', here ? null : true)
      say(says[4], 'weight × v')
    },
  }
}

/** The row of one key. @param {number} j @param {number} d @param {OnVector} on */
export function mountKey(j, d, on) {
  const word = h('div', { class: 'k', role: 'rowheader' })
  const key = mountVectorField('k', d, on)
  const value = mountVectorField('v', d, on)
  const product = mountNumber({ stage: 1, look: 'res' })
  const scaled = mountNumber({ stage: 2, look: 'res' })
  const score = mountNumber({ text: visibleOf, stage: 3, look: 'res' })
  const exp = mountNumber({ stage: 4, look: 'exp' })
  const share = mountNumber({ stage: 4, look: 'res' })
  const part = mountVector({ stage: 5, room: ROOM, look: 'res' }, d, `vec of-${across(d)}`)
  const why = ['', '', 'small faint', ''].map(mountSum)
  const bar = h('i', {})
  const mask = cell('s3', why[2].el, score.el)
  const el = row(word, cell('s0 kv', key.el, value.el), cell('s1', why[0].el, product.el), cell('s2', why[1].el, scaled.el), mask,
    cell('s4', exp.el, h('span', { class: 'meter', 'aria-hidden': 'true' }, bar), share.el), cell('s5', why[3].el, part.el))
  return {
    el,
    sums: why,
    /** @param {Model} model */
    update(model) {
      const { query: i, values, sheet } = model
      put(word, ...wordOf(model, j))
      key.update(model, j)
      value.update(model, j)
      const { value: p, here: scored } = product.update(model, 'products', i, j)
      const { here: divided } = scaled.update(model, 'scaled', i, j)
      const { here: masked } = score.update(model, 'scores', i, j)
      exp.update(model, 'exps', i, j)
      const { value: w, here: shared } = share.update(model, 'weights', i, j)
      part.update(model, 'parts', i, j)
      const visible = values.visible(i, j)
      const mixed = made(model, keyOf('parts', [i, j, 0]), 5)
      const divide = ['÷', two(model.recipe.roots[d - 1]), '=', '']
      const weighed = [three(w), '×', 'v', '=', '']
      why[0].update(scored, ['q · k', '=', ''], d <= 2 ? terms(model, i, j) : null)
      why[1].update(divided, sheet.scale ? divide : ['as it is'], sheet.scale ? [typed(p), ...divide] : null)
      why[2].update(masked, [visible ? 'visible' : 'future'])
      why[3].update(mixed, weighed, d <= 2 ? [three(w), '×', `[${vectorOf(model, 'v', j).map((x) => typed(x)).join(', ')}]`, '=', ''] : null)
      mask.classList.toggle('hatch', !visible)
      mask.classList.toggle('unmade', !masked)
      bar.className = shared ? '' : 'unmade'
      css(bar, { width: `${100 * w}%` })
    },
  }
}

/** The totals: what the weights and the parts add up to. @param {number} d */
export function mountTotals(d) {
  const whole = mountNumber({ text: three, stage: 4, look: 'res whole' })
  const out = mountVector({ stage: 5, room: ROOM, look: 'res out' }, d, `vec of-${across(d)}`)
  const el = row(h('div', { class: 'k tot', role: 'rowheader' }, h('span', { class: 'sr' }, 'total')), ...[0, 1, 2, 3].map((at) => cell(`tot s${at}`)),
    cell('tot s4', h('span', { class: 'small dim' }, 'sum'), whole.el), cell('tot s5', h('span', { class: 'small dim' }, 'output'), out.el))
  return {
    el,
    /** @param {Model} model */
    update(model) {
      whole.update(model, 'wholes', model.query)
      out.update(model, 'out', model.query)
    },
  }
}

/** What a score says of the mask. @param {number} x */
export const visibleOf = (x) => (x === -Infinity ? '−∞' : '✓')

/** How many components of a vector stand in one line. @param {number} d */
export const across = (d) => Math.ceil(d / Math.ceil(d / 4))

/** @param {Model} model @param {string} grid @param {number} at */
const vectorOf = ({ values }, grid, at) => Array.from({ length: values.d }, (_, c) => values.at(grid, at, c))

/** "2 × 0 + 0 × 1 =" @param {Model} model @param {number} i @param {number} j */
function terms(model, i, j) {
  const k = vectorOf(model, 'k', j)
  return [...vectorOf(model, 'q', i).flatMap((x, c) => [...(c ? ['+'] : []), typed(x), '×', typed(k[c])]), '=', '']
}
