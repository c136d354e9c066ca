// One number on the page: its value, whether it has been made yet, and whether the step at work makes it or needs it.

import { attr, h, say } from '../../dom.js'
import { fitted, written } from '../../pure/walk/format.js'
import { keyOf, made } from './model.js'

/** @typedef {import("./model.js").Model} Model */
/**
 * text writes the value, as its grid is written where none is given; room is the digits there is room for; stage is the column it stands in; still leaves the marks of the step out.
 * @typedef {{text?: (x: number) => string, room?: number, stage: number, still?: boolean, look?: string}} Form
 */

/** @param {Form} form whose room may become another */
export function mountNumber(form) {
  const { text, stage, still = false, look = '' } = form
  const el = h('span', { tabindex: '-1' })
  return {
    el,
    /** @param {Model} model @param {string} grid @param {...number} at */
    update(model, grid, ...at) {
      const key = keyOf(grid, at)
      const here = made(model, key, stage)
      const value = model.values.at(grid, ...at)
      attr(el, 'data-ref', key)
      attr(el, 'aria-hidden', here ? null : true)
      say(el, text ? text(value) : fitted(value, form.room ?? Infinity, (x) => written(model.recipe, grid, x)))
      const marks = [look, 'n', here ? '' : 'later', value === 0 ? 'zero' : '']
      if (!still && here) marks.push(model.now.has(key) ? 'now' : model.operands.has(key) ? 'src' : '')
      el.className = marks.filter(Boolean).join(' ')
      return { value, here }
    },
  }
}

/**
 * Several numbers in one frame, the components of a vector: marked as one.
 * @param {Form} form @param {number} size @param {string} [frame] class of the frame
 */
export function mountVector(form, size, frame = 'vec') {
  const numbers = Array.from({ length: size }, () => mountNumber({ text: form.text, room: form.room, stage: form.stage, still: true }))
  const el = h('span', {}, ...numbers.map((one) => one.el))
  return {
    el,
    /** @param {Model} model @param {string} grid @param {...number} at without the component */
    update(model, grid, ...at) {
      const first = keyOf(grid, [...at, 0])
      numbers.forEach((one, c) => one.update(model, grid, ...at, c))
      const here = made(model, first, form.stage)
      const mark = !here ? 'later' : model.now.has(first) ? 'now' : model.operands.has(first) ? 'src' : ''
      el.className = [frame, form.look ?? '', mark].filter(Boolean).join(' ')
    },
  }
}
