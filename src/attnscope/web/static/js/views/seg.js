// A choice of a few words in one control: one stop of the Tab key, arrows inside.

import { attr, h } from '../dom.js'

/**
 * @template {string} T
 * @param {string} name what is chosen @param {{value: T, text: string}[]} options @param {(value: T) => void} choose
 */
export function mountSeg(name, options, choose) {
  const buttons = options.map(({ value, text }) => h('button', { type: 'button', onclick: () => choose(value) }, text))
  const el = h('span', { class: 'seg', role: 'group', 'aria-label': name }, ...buttons)
  el.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
    const at = buttons.findIndex((button) => button === document.activeElement)
    if (!step || at < 0) return
    event.preventDefault()
    const next = (at + step + buttons.length) % buttons.length
    buttons[next].focus()
    choose(options[next].value)
  })
  return {
    el,
    /** @param {T} chosen */
    update(chosen) {
      options.forEach(({ value }, at) => {
        attr(buttons[at], 'aria-pressed', value === chosen)
        buttons[at].tabIndex = value === chosen ? 0 : -1
      })
    },
  }
}
