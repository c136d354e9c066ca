// The formula of one query's output, in MathML, with the part at work lit.

import { put } from '../../dom.js'
import { stretch } from '../../kit/brackets.js'

/** @typedef {import("./model.js").Model} Model @typedef {import("../../pure/walk/types.js").Part} Part */

const LONGEST = 10 // letters of the word in the formula
const MATHML = 'http://www.w3.org/1998/Math/MathML'

/** @param {string} tag @param {Record<string, string>} attributes @param {...(Node|string)} children */
function m(tag, attributes, ...children) {
  const el = document.createElementNS(MATHML, tag)
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value)
  el.append(...children)
  return el
}

export function mountFormula() {
  const el = m('math', { display: 'inline' })
  let drawn = ''
  return {
    el,
    /** @param {Model} model */
    update({ sheet, step, query }) {
      const word = sheet.words[query]
      const key = JSON.stringify([word, sheet.scale, sheet.causal])
      if (drawn !== key) put(el, ...content(word, sheet.scale))
      if (drawn !== key) el.setAttribute('aria-label', spoken(word, sheet.scale))
      if (drawn !== key) stretch(el)
      drawn = key
      for (const part of el.querySelectorAll('[data-part]')) {
        part.classList.toggle('on', (part.getAttribute('data-part') ?? '').split(' ').includes(step.part))
      }
    },
  }
}

/** @param {string} word @param {boolean} scale */
function content(word, scale) {
  const q = m('mi', { 'data-part': 'qkv' }, 'q')
  const kt = m('msup', {}, m('mi', { 'data-part': 'qkv' }, 'K'), m('mi', { mathvariant: 'normal' }, 'T'))
  const product = m('mrow', { 'data-part': 'product' }, q, kt)
  const inner = scale ? m('mfrac', {}, product, m('mrow', { 'data-part': 'root' }, m('msqrt', {}, m('mi', {}, 'd')))) : product
  return [
    m('msub', {}, m('mi', {}, 'out'), m('mi', { mathvariant: 'normal' }, shortened(word))),
    m('mo', {}, '='),
    m('mrow', { 'data-part': 'softmax' }, m('mi', { mathvariant: 'normal' }, 'softmax')),
    m('mo', { stretchy: 'true' }, '('),
    inner,
    m('mrow', { 'data-part': 'mask' }, m('mo', { form: 'infix', lspace: '.22em', rspace: '.22em' }, '+'), m('mi', {}, 'mask')),
    m('mo', { stretchy: 'true' }, ')'),
    m('mrow', { 'data-part': 'values' }, m('mi', { 'data-part': 'qkv' }, 'V')),
  ]
}

/** @param {string} word */
const shortened = (word) => ([...word].length > LONGEST ? `${[...word].slice(0, LONGEST - 1).join('')}…` : word)

/** @param {string} word @param {boolean} scale */
const spoken = (word, scale) => `out of ${word} = softmax(q times K transposed${scale ? ' over root d' : ''} plus mask) times V`
