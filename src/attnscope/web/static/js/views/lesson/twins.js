// Two rows of bars over and under the same characters: two amounts of every key in one line, and one key chosen.

import { attr, css, h, put, say } from '../../dom.js'
import { label as written } from '../../pure/marks.js'
import { weight, weight7 } from '../../pure/number.js'

/** @typedef {import("../../types.js").Token} Token */
/** @typedef {{above: number[], below: number[], key: number}} Twins */

/** A character as a token, for its marks. @param {string} text @param {number} i @returns {Token} */
export const character = (text, i = 0) => ({ i, id: 0, text, kind: 'text', bytes: null, continues: false, spoken: { ' ': 'space', '\n': 'newline' }[text] ?? '' })

/**
 * Each row of bars is as high as its own largest amount.
 * @param {{label: string, line: string, names: [string, string], choose: (key: number) => void}} opts names: of the amounts above and below
 */
export function mountTwins({ label, line, names, choose }) {
  const tokens = [...line].map(character)
  const columns = tokens.map((token, key) => {
    const parts = { above: h('i'), below: h('i') }
    const amounts = { above: h('span', { class: 'amount' }), below: h('span', { class: 'amount' }) }
    // the name of an option is what it holds, with the words that the eye reads at the left
    const number = (/** @type {HTMLElement} */ amount, /** @type {string} */ name) => h('span', { class: 'twin-number' }, h('span', { class: 'sr' }, `${name} `), amount)
    const el = h('div', { class: 'twin', role: 'option', 'data-key': key, tabindex: '-1' },
      number(amounts.above, names[0]), h('span', { class: 'twin-bar' }, parts.above),
      h('span', { class: 'twin-char' }, h('span', { class: 'char' }, written(token)), h('span', { class: 'sr' }, ` ${token.spoken} ${key} `)),
      h('span', { class: 'twin-bar below' }, parts.below), number(amounts.below, names[1]))
    return { el, token, parts, amounts }
  })
  const list = h('div', { class: 'twins-list', role: 'listbox', 'aria-label': label, 'aria-orientation': 'horizontal', style: { '--keys': String(tokens.length) } }, ...columns.map((column) => column.el))
  const heads = h('div', { class: 'twins-names', 'aria-hidden': 'true' }, h('span', {}, names[0]), h('span', {}, names[1]))
  const el = h('div', { class: 'twins' }, heads, list)
  let chosen = 0

  list.addEventListener('click', (event) => {
    const key = event.target instanceof Element ? event.target.closest('[data-key]')?.getAttribute('data-key') : null
    if (key) go(Number(key))
  })
  // a finger is wider than a column: it slides to the key it means
  list.addEventListener('pointermove', (event) => {
    if (!event.buttons) return
    const { left, width } = list.getBoundingClientRect()
    const key = Math.floor(((event.clientX - left) / width) * tokens.length)
    if (columns[key] && key !== chosen) choose(key)
  })
  list.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const last = tokens.length - 1
    const to = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1, Home: 0, End: last, PageUp: chosen - 10, PageDown: chosen + 10 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    go(Math.max(0, Math.min(last, to)))
  })

  /** @param {number} key */
  function go(key) {
    choose(key)
    columns[key].el.focus()
  }

  return {
    el,
    /** @param {Twins} data */
    update({ above, below, key }) {
      chosen = key
      const most = { above: Math.max(...above), below: Math.max(...below) }
      columns.forEach(({ el: column, token, parts, amounts }, j) => {
        css(parts.above, { height: `${(100 * above[j]) / most.above}%` })
        css(parts.below, { height: `${(100 * below[j]) / most.below}%` })
        say(amounts.above, weight(above[j]))
        say(amounts.below, weight(below[j]))
        attr(column, 'aria-selected', j === key)
        column.tabIndex = j === key ? 0 : -1
        attr(column, 'title', `${written(token)} ${j}\n${names[0]} ${weight7(above[j])}\n${names[1]} ${weight7(below[j])}`)
        column.classList.toggle('most-above', above[j] === most.above)
        column.classList.toggle('most-below', below[j] === most.below)
      })
    },
  }
}

/** A row of small buttons that jump to what was found. @param {string} label @param {{text: string, act: () => void}[]} found */
export function jumps(label, found) {
  const el = h('span', { class: 'jumps', role: 'group', 'aria-label': label })
  put(el, h('span', { class: 'dim' }, label), ...found.map(({ text, act }) => h('button', { class: 'btn tiny', type: 'button', onclick: act }, text)))
  return el
}
