// Five tokens in any order: buttons that swap and shuffle them, and three tables of outputs whose rows follow their words.

import { attr, css, h, put, say } from '../../dom.js'
import { onSigned, signedMap } from '../../kit/signed.js'
import { fixed } from '../../pure/number.js'
import { orderOf } from '../../pure/parameters.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */
/** @typedef {{words: string[], names: string[], orders: number[][], out: number[][][][], by_word: number[][][], moved: number[][]}} Shuffle out, by_word, moved: by way, then by order */
/** @typedef {{word: number, el: HTMLElement, cells: HTMLElement[], moved: HTMLElement}} Row */

const FIRST = '21034' // man bites dog at noon
const SAME = 1e-6 // below it two float32 outputs are the same but for their last bits

/** @param {HTMLElement} el @param {Shuffle} data @param {On} on */
export function mountShuffle(el, data, on) {
  const index = new Map(data.orders.map((order, at) => [order.join(''), at]))
  const start = [...FIRST].map(Number)
  const most = Math.max(...data.out.flat(3).map(Math.abs))
  /** @type {number[]} */
  let order = start
  const go = (/** @type {number[]} */ next, /** @type {string} */ kind) => {
    on.change({ order: next.join('') === FIRST ? null : next.join('') }, kind)
    on.say(spoken(data, /** @type {number} */ (index.get(next.join('')))))
  }
  const swap = (/** @type {number} */ at) => {
    const next = [...order]
    ;[next[at], next[at + 1]] = [next[at + 1], next[at]]
    go(next, 'swap')
  }
  const shuffle = () => {
    const others = data.orders.slice(1).filter((one) => one.join('') !== order.join(''))
    go(others[Math.floor(Math.random() * others.length)], 'shuffle')
  }
  const chips = data.words.map(() => h('span', { class: 'tok still' }))
  const swaps = data.words.slice(1).map((_, at) => h('button', { class: 'btn quiet swap', type: 'button', onclick: () => swap(at) }, h('span', { 'aria-hidden': 'true' }, '⇄')))
  const line = h('div', { class: 'line', role: 'group', 'aria-label': 'Order of the tokens' }, ...chips.flatMap((chip, at) => (at < swaps.length ? [chip, swaps[at]] : [chip])))
  const back = h('button', { class: 'btn quiet', type: 'button', onclick: () => go(data.orders[0], 'first') }, 'First order')
  const ways = data.names.map((name) => mountWay(name, data))
  const again = h('button', { class: 'btn', type: 'button', onclick: shuffle }, 'Shuffle')
  put(el, h('div', { class: 'deck' }, line, again, back),
    h('div', { class: 'ways' }, ...ways.map((way) => way.el)))

  return {
    /** @param {Parameters} state */
    update(state) {
      order = orderOf(state.order, data.words.length) ?? start
      const at = /** @type {number} */ (index.get(order.join('')))
      chips.forEach((chip, place) => say(chip, data.words[order[place]]))
      swaps.forEach((button, place) => {
        const name = `Swap ${data.words[order[place]]} and ${data.words[order[place + 1]]}`
        attr(button, 'aria-label', name)
        attr(button, 'title', name)
      })
      if (at === 0 && document.activeElement === back) again.focus()
      attr(back, 'disabled', at === 0 ? '' : null)
      ways.forEach((way, which) => way.update({ order, out: data.out[which][at], moved: data.by_word[which][at], largest: data.moved[which][at], most, first: at === 0 }))
    },
  }
}

/** One table: a row for each word, in the order the words have now. @param {string} name @param {Shuffle} data */
function mountWay(name, data) {
  const width = data.out[0][0][0].length
  const head = h('tr', {}, h('th', { scope: 'col' }, h('span', { class: 'sr' }, 'Word')), ...Array.from({ length: width }, (_, c) => h('th', { scope: 'col' }, String(c))), h('th', { scope: 'col' }, 'moved by'))
  /** @type {Row[]} */
  const rows = data.words.map((text, word) => {
    const cells = Array.from({ length: width }, () => h('td'))
    const moved = h('td')
    return { word, cells, moved, el: h('tr', {}, h('th', { scope: 'row' }, text), ...cells, moved) }
  })
  const body = h('tbody', {}, ...rows.map((row) => row.el))
  const verdict = h('p')
  return {
    el: h('section', {}, h('h3', {}, name), h('table', { class: 'outputs', 'aria-label': `Outputs, ${name}` }, h('thead', {}, head), body), verdict),
    /** @param {{order: number[], out: number[][], moved: number[], largest: number, most: number, first: boolean}} now */
    update({ order, out, moved, largest, most, first }) {
      const map = signedMap()
      const before = rows.map((row) => row.el.offsetTop)
      body.append(...order.map((word) => rows[word].el))
      order.forEach((word, place) => {
        const row = rows[word]
        row.cells.forEach((cell, c) => {
          const t = onSigned(out[place][c], most)
          say(cell, fixed(out[place][c], 2))
          attr(cell, 'title', fixed(out[place][c], 7))
          css(cell, { 'background-color': map.css(t), color: `var(--cell-${map.ink(t)})` })
        })
        say(row.moved, fixed(moved[place], 4))
        attr(row.moved, 'title', fixed(moved[place], 7))
      })
      rows.forEach((row, at) => glide(row.el, before[at] - row.el.offsetTop))
      put(verdict, ...judged(largest, first))
    },
  }
}

/** @param {number} largest @param {boolean} first */
function judged(largest, first) {
  if (first) return ['This is the first order, which the others are held against.']
  const number = h('b', {}, fixed(largest, 4))
  return largest < SAME ? ['Largest difference ', number, ': the same outputs, shuffled.'] : ['Largest difference ', number, ': the order has changed the outputs.']
}

/** @param {Shuffle} data @param {number} at */
function spoken(data, at) {
  const line = data.orders[at].map((word) => data.words[word]).join(' ')
  return `${line}. ${data.names.map((name, way) => `${name}: largest difference ${fixed(data.moved[way][at], 4)}`).join('; ')}.`
}

/** A row comes from where it stood. @param {HTMLElement} el @param {number} from px */
function glide(el, from) {
  const written = getComputedStyle(document.documentElement).getPropertyValue('--step').trim()
  const time = written.endsWith('ms') ? parseFloat(written) : parseFloat(written) * 1000
  if (!from || !time) return
  el.animate([{ transform: `translateY(${from}px)` }, { transform: 'none' }], { duration: time, easing: 'cubic-bezier(.2, 0, 0, 1)' })
}
