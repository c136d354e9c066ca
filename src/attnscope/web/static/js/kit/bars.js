// Horizontal bars, one a line: a word, a bar whose length is the amount, and the number. A second thin bar shows the same amount after.

import { attr, css, h, put, say } from '../dom.js'
import { weight, weight7 } from '../pure/number.js'

/**
 * value and other are amounts of 0 or more, or null where there is none; mark says which line was chosen.
 * @typedef {{text: string, spoken?: string, value: number|null, other?: number|null, mark?: boolean}} Bar
 * @typedef {{rows: Bar[], max?: number, format?: (x: number) => string}} Bars max: what fills the line, by default the largest amount
 * @typedef {{el: HTMLElement, word: HTMLElement, bars: HTMLElement[], numbers: HTMLElement[]}} Line
 */

/**
 * names are what value and other are called ("before", "after"); they stand over the numbers when there are two.
 * @param {{label: string, unit?: string, names?: [string, string]}} opts
 */
export function mountBars({ label, unit = '', names = ['', ''] }) {
  const head = h('div', { class: 'bars-head', 'aria-hidden': 'true', hidden: true }, h('span'), h('span'), h('span', {}, h('i'), names[0]), h('span', {}, h('i', { class: 'second' }), names[1]))
  const list = h('div', { class: 'bars-list', role: 'list', 'aria-label': unit ? `${label}, ${unit}` : label })
  const el = h('div', { class: 'bars' }, head, list)
  /** @type {Line[]} */
  let lines = []

  /** @param {number} count */
  function build(count) {
    lines = Array.from({ length: count }, makeLine)
    put(list, ...lines.map((line) => line.el))
  }

  return {
    el,
    /** @param {Bars} data */
    update({ rows, max, format = weight }) {
      const pairs = rows.some((row) => row.other !== undefined)
      const full = max ?? Math.max(...rows.flatMap((row) => [row.value ?? 0, row.other ?? 0]))
      el.classList.toggle('pairs', pairs)
      head.hidden = !(pairs && names.some(Boolean))
      if (lines.length !== rows.length) build(rows.length)
      rows.forEach((row, at) => fill(lines[at], { row, full, pairs, format, names, unit }))
    },
  }
}

/** @returns {Line} */
function makeLine() {
  const word = h('span', { class: 'bars-word', dir: 'auto' })
  const bars = [h('i'), h('i', { class: 'second' })]
  const numbers = [h('span', { class: 'bars-number' }), h('span', { class: 'bars-number' })]
  const el = h('div', { class: 'bars-line', role: 'listitem' }, word, h('span', { class: 'bars-track' }, ...bars), ...numbers)
  return { el, word, bars, numbers }
}

/** @param {Line} line @param {{row: Bar, full: number, pairs: boolean, format: (x: number) => string, names: [string, string], unit: string}} data */
function fill({ el, word, bars, numbers }, { row, full, pairs, format, names, unit }) {
  const amounts = pairs ? [row.value, row.other ?? null] : [row.value]
  const written = amounts.map((x) => (x === null ? '–' : format(x)))
  say(word, row.text)
  el.classList.toggle('chosen', Boolean(row.mark))
  numbers[1].hidden = bars[1].hidden = !pairs
  amounts.forEach((x, at) => {
    css(bars[at], { width: `${share(x, full)}%`, 'min-width': x ? 1 : 0 })
    say(numbers[at], written[at])
    attr(numbers[at], 'title', x === null ? null : weight7(x))
  })
  const told = written.map((text, at) => (pairs ? `${names[at]} ${text}` : text).trim()).join(', ')
  attr(el, 'aria-label', `${row.spoken ?? row.text}, ${told}${unit ? ` ${unit}` : ''}${row.mark ? ', chosen' : ''}`)
}

/** @param {number|null} x @param {number} full */
function share(x, full) {
  return x === null || !(full > 0) ? 0 : 100 * Math.min(1, Math.max(0, x / full))
}
