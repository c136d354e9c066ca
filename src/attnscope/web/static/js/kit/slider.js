// A slider over given stops: a native range input, with the stop's text beside it.

import { attr, css, h, say } from '../dom.js'

let made = 0

/**
 * @param {{label: string, stops: {value: number, text: string}[], choose: (index: number) => void}} opts
 * @returns {{el: HTMLElement, update: (index: number) => void}}
 */
export function mountSlider({ label, stops, choose }) {
  const id = `slider-${++made}`
  const input = h('input', { type: 'range', id, min: 0, max: Math.max(0, stops.length - 1), step: 1, value: 0 })
  const text = h('output', { for: id, class: 'slider-text' })
  const widest = Math.max(0, ...stops.map((stop) => stop.text.length))
  css(text, { 'min-width': `${widest}ch` })
  input.addEventListener('input', () => {
    show(input.valueAsNumber)
    choose(input.valueAsNumber)
  })
  const el = h('div', { class: 'slider' }, h('label', { for: id }, label), input, text)

  /** @param {number} index */
  function show(index) {
    const stop = stops[index]
    css(input, { '--at': `${stops.length > 1 ? (100 * index) / (stops.length - 1) : 0}%` })
    attr(input, 'aria-valuetext', stop.text)
    say(text, stop.text)
  }
  return {
    el,
    update(index) {
      const at = Math.min(Math.max(0, index), stops.length - 1)
      if (input.valueAsNumber !== at) input.value = String(at)
      show(at)
    },
  }
}
