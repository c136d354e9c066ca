// The sentence of the step beside the formula, what the last edit did, and the reader's prediction of the next number.

import { attr, h, put, say } from '../../dom.js'
import { guessSentence } from '../../pure/walk/guess.js'
import { readNumber } from '../../pure/walk/read.js'
import { mountField } from './field.js'
import { mountFormula } from './formula.js'
import { refKey } from './model.js'

/** @typedef {import("./model.js").Model} Model */

/** @param {{step: () => void}} on the reader is done predicting */
export const mountSaying = (on) => new Saying(on)

class Saying {
  /** @type {Model|null} */ #model = null
  /** @type {number|null} what the reader predicts the next step gives */ #guess = null
  #answer = ''

  /** @param {{step: () => void}} on */
  constructor(on) {
    this.formula = mountFormula()
    this.place = h('span', { class: 'small faint place' })
    this.change = h('span', { class: 'small acc change' })
    this.sentence = h('p', { class: 'step-says' })
    this.ask = h('span', {})
    this.field = mountField({ label: 'Your prediction', look: 'in', read: readNumber, take: (value) => (this.#guess = value), enter: on.step })
    this.predict = h('div', { class: 'predict' }, h('label', {}, this.ask, ' ', this.field.el), h('span', { class: 'small faint' }, 'then Step'))
    this.answer = h('p', { class: 'answer' })
    this.el = h('div', { class: 'say' }, this.formula.el, h('div', {}, h('div', { class: 'above' }, this.place, this.change), this.sentence, this.answer, this.predict))
  }

  /** What a screen reader is told of this step. */
  spoken() {
    if (!this.#model) return ''
    return [this.place.textContent, this.#answer, this.sentence.textContent, this.predict.hidden ? '' : this.ask.textContent].filter(Boolean).join('. ')
  }

  /** The answer to a prediction, when the step forward is made. @param {Model} next */
  judge(next) {
    this.#answer = this.#guess !== null && this.#model && next.step.guess && !this.predict.hidden ? guessSentence(next.recipe, next.step, next.values, this.#guess) : ''
    this.#forget()
  }

  /** Another place or another example: no prediction holds. */
  clear() {
    this.#answer = ''
    this.#forget()
  }

  #forget() {
    this.#guess = null
    this.field.update({ text: '' })
    this.field.restore()
    this.field.input.value = ''
  }

  /** @param {Model} model @param {string} changed what the last edit did */
  update(model, changed) {
    this.#model = model
    this.formula.update(model)
    say(this.place, `${model.recipe.stages[model.stage].title}, ${model.step.index} of ${model.step.of}`)
    say(this.change, changed)
    put(this.sentence, ...model.step.sentence.map((piece) => {
      const ref = piece.ref ? { 'data-ref': refKey(piece.ref), class: 'told' } : {}
      const text = piece.ref || piece.word !== undefined ? h('span', ref, piece.text) : piece.text
      return piece.strong ? h('b', {}, text) : text
    }))
    say(this.answer, this.#answer)
    this.answer.hidden = !this.#answer
    const next = model.steps[model.at]
    const asks = model.predicting && next?.guess && next.ask ? next.ask : ''
    this.predict.hidden = !asks
    say(this.ask, asks)
    attr(this.field.input, 'aria-label', asks || 'Your prediction')
  }

  /** Whether the reader is typing a prediction. @param {EventTarget|null} target */
  holds(target) {
    return target === this.field.input
  }
}
