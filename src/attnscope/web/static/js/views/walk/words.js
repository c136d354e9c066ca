// The words of the example, and how many there are.

import { enable, h, put } from '../../dom.js'
import { readCount } from '../../pure/walk/read.js'
import { readWord } from '../../pure/walk/word.js'
import { mountField } from './field.js'
import { mountPopover } from './popover.js'

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("../../pure/walk/types.js").Recipe["limits"]} Limits */
/** @typedef {{word: (at: number, word: string) => void, count: (n: number) => void, depth: (d: number) => void, done: () => void}} OnWords */

/** @param {Limits} limits @param {OnWords} on */
export function mountWords(limits, on) {
  const count = mountField({ label: 'Number of words', look: 'in', read: (text) => readCount(text, limits.words, 'words'), take: on.count, done: on.done, props: { inputmode: 'numeric' } })
  const list = h('ol', { class: 'words' })
  /** @type {ReturnType<typeof mountField<string>>[]} */
  let fields = []
  const add = h('button', { class: 'btn quiet tiny', type: 'button', onclick: () => on.count(fields.length + 1) }, 'Add a word')
  const drop = h('button', { class: 'btn quiet tiny', type: 'button', onclick: () => on.count(fields.length - 1) }, 'Take the last one out')
  const panel = h('div', { class: 'tip', role: 'dialog', 'aria-label': 'Words' }, h('label', { class: 'count' }, h('span', {}, 'Words'), count.el, h('span', { class: 'faint' }, '2 to 8')), list, h('div', { class: 'line' }, add, drop))
  const { el, button } = mountPopover('Words', panel)
  return {
    el,
    /** @param {Model} model */
    update({ sheet: { words } }) {
      put(button, `Words ${words.length} ▾`)
      count.update({ text: String(words.length) })
      while (fields.length > words.length) fields.pop()
      while (fields.length < words.length) {
        const at = fields.length
        fields.push(mountField({ label: `Word ${at + 1}`, look: 'field word', read: wordOf, take: (word) => on.word(at, word), done: on.done, props: { dir: 'auto' } }))
      }
      if (list.childElementCount !== fields.length) put(list, ...fields.map((one) => h('li', {}, one.el)))
      fields.forEach((one, at) => one.update({ text: words[at] }))
      enable([add, words.length < limits.words[1], drop], [drop, words.length > limits.words[0], add])
      add.title = add.disabled ? `${limits.words[1]} words are the most there can be` : ''
      drop.title = drop.disabled ? `${limits.words[0]} words are the fewest there can be` : ''
    },
  }
}

/** @param {Limits} limits @param {OnWords} on */
export function mountDepth(limits, on) {
  const field = mountField({ label: 'Components d', look: 'in', read: (text) => readCount(text, limits.depth, 'components'), take: on.depth, done: on.done, props: { inputmode: 'numeric' } })
  const panel = h('div', { class: 'tip', role: 'dialog', 'aria-label': 'Width d' },
    h('label', { class: 'count' }, h('span', {}, 'd'), field.el, h('span', { class: 'faint' }, '1 to 8')),
    h('p', { class: 'small dim' }, 'How many components a query, a key and a value have. New ones start at 0.'))
  const { el, button } = mountPopover('d', panel)
  return {
    el,
    /** @param {Model} model */
    update({ values: { d } }) {
      put(button, `d = ${d} ▾`)
      field.update({ text: String(d) })
    },
  }
}

/** @param {string} text @returns {{value: string}|{problem: string}} */
function wordOf(text) {
  const found = readWord(text)
  return 'word' in found ? { value: found.word } : found
}
