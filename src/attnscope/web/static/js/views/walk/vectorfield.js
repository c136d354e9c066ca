// The components of one query, key or value, or of a row of a matrix, as fields to type into.

import { attr, h } from '../../dom.js'
import { breadth, fitted } from '../../pure/walk/format.js'
import { readNumber } from '../../pure/walk/read.js'
import { mountField } from './field.js'
import { keyOf, refOf } from './model.js'
import { exact, nameOf } from './names.js'

/** @typedef {import("./model.js").Model} Model @typedef {import("../../pure/walk/types.js").Ref} Ref */
const ROOM = 4.5 // digits in a field that is left alone; the one that is typed into scrolls
const TIGHT = 4 // digits from which on they are set smaller
/** take: a number is to be another; done: the reader is through with it; left: the reader has left the vector. @typedef {{take: (ref: Ref, value: number) => void, done: () => void, left: () => void}} OnVector */

/** @param {string} grid @param {number} size @param {OnVector} on @param {string} [letter] what stands before it */
export function mountVectorField(grid, size, on, letter = grid) {
  let at = [0]
  const fields = Array.from({ length: size }, (_, c) => mountField({ label: '', read: readNumber, take: (value) => on.take({ grid, at: [...at, c] }, value), done: on.done }))
  const el = h('span', { class: 'vector' }, letter ? h('span', { class: 'v', 'aria-hidden': 'true' }, letter) : null, ...fields.map((one) => one.el))
  el.addEventListener('focusout', (event) => !(event.relatedTarget instanceof Node && el.contains(event.relatedTarget)) && on.left())
  return {
    el,
    fields,
    /** Takes back what was refused. */
    restore: () => fields.forEach((one) => one.restore()),
    /** @param {Model} model @param {...number} place of the vector */
    update(model, ...place) {
      if (place.join() !== at.join()) fields.forEach((one) => one.restore())
      at = place
      fields.forEach(({ input, update }, c) => {
        const key = keyOf(grid, [...place, c])
        const value = model.values.at(grid, ...place, c)
        const text = fitted(value, ROOM)
        update({ text, whole: exact(value), label: nameOf(model, refOf(key)) })
        attr(input, 'data-ref', key)
        input.classList.toggle('tight', breadth(text) > TIGHT)
        input.classList.toggle('edited', model.edited(key))
        input.classList.toggle('now', model.now.has(key))
        input.classList.toggle('src', model.operands.has(key))
      })
    },
  }
}
