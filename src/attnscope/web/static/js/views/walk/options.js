// What one chooses above the walk: the word that asks, mask and scale, predictions; words, d, projections; undo, redo, reset, save, open.

import { attr, enable, h, icon, put } from '../../dom.js'
import { mountSeg } from '../seg.js'
import { wordOf } from './rows.js'

/** @typedef {import("./model.js").Model} Model */
/**
 * @typedef {{query: (query: number) => void, mask: (causal: boolean) => void, scale: (on: boolean) => void, predict: (on: boolean) => void,
 *   panel: (open: boolean) => void, undo: () => void, redo: () => void, reset: () => void}} OnOptions
 */

/** The query as chips: one stop of the Tab key, arrows inside. @param {(query: number) => void} choose */
function mountQuery(choose) {
  const el = h('span', { class: 'grp chips', role: 'radiogroup', 'aria-label': 'Query, the word that asks' })
  /** @type {HTMLButtonElement[]} */
  let chips = []
  el.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
    const at = chips.findIndex((chip) => chip === document.activeElement)
    if (!step || at < 0 || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const next = (at + step + chips.length) % chips.length
    choose(next)
    chips[next].focus()
  })
  return {
    el,
    /** @param {Model} model */
    update(model) {
      if (chips.length !== model.words.length) {
        chips = model.words.map((_, at) => h('button', { class: 'tok', type: 'button', role: 'radio', onclick: () => choose(at) }))
        put(el, ...chips)
      }
      chips.forEach((chip, at) => {
        put(chip, ...wordOf(model, at))
        attr(chip, 'aria-checked', at === model.query)
        chip.tabIndex = at === model.query ? 0 : -1
      })
    },
  }
}

/** @param {OnOptions} on @param {{words: HTMLElement, depth: HTMLElement, save: HTMLElement, open: HTMLElement}} parts made elsewhere */
export function mountOptions(on, { words, depth, save, open }) {
  const query = mountQuery(on.query)
  const mask = mountSeg('Mask', [{ value: 'none', text: 'none' }, { value: 'causal', text: 'causal' }], (value) => on.mask(value === 'causal'))
  const scale = h('input', { type: 'checkbox', onchange: () => on.scale(scale.checked) })
  const predict = h('input', { type: 'checkbox', onchange: () => on.predict(predict.checked) })
  const panel = h('button', { class: 'btn quiet', type: 'button', 'aria-expanded': 'false', 'aria-controls': 'projections', onclick: () => on.panel(panel.getAttribute('aria-expanded') !== 'true') }, 'Projections')
  const undo = h('button', { class: 'btn', type: 'button', title: 'Take the last change back (Ctrl Z)', onclick: on.undo }, icon('M4.500 2.500 2 5l2.500 2.500M2.300 5H8a3.500 3.500 0 0 1 0 7H5.500'), 'Undo')
  const redo = h('button', { class: 'btn', type: 'button', title: 'Make the change again that was taken back (Ctrl Shift Z)', onclick: on.redo }, icon('M9.500 2.500 12 5l-2.500 2.500M11.700 5H6a3.500 3.500 0 0 0 0 7h2.500'), 'Redo')
  const reset = h('button', { class: 'btn', type: 'button', title: 'Back to the example of the lesson', onclick: on.reset }, 'Reset')
  return {
    buttons: h('div', { class: 'end tools' }, save, open, undo, redo, reset),
    el: h('div', { class: 'opts' },
      h('div', { class: 'grp' }, h('span', { 'aria-hidden': 'true' }, 'Query'), query.el),
      h('div', { class: 'grp' }, h('span', { 'aria-hidden': 'true' }, 'Mask'), mask.el),
      h('label', { class: 'check' }, scale, 'Scale by √d'),
      h('label', { class: 'check', title: 'Say what the next number will be before you step' }, predict, 'Predict'),
      h('div', { class: 'end' }, words, depth, panel)),
    /** @param {Model} model @param {{undoable: boolean, redoable: boolean, fresh: boolean, panel: boolean}} now */
    update(model, now) {
      query.update(model)
      mask.update(model.sheet.causal ? 'causal' : 'none')
      scale.checked = model.sheet.scale
      predict.checked = model.predicting
      attr(panel, 'aria-expanded', now.panel)
      enable([undo, now.undoable, redo], [redo, now.redoable, undo], [reset, !now.fresh, undo])
    },
  }
}
