// A panel that floats under its button, inside the window: Esc and a press outside close it.

import { attr, css, h } from '../../dom.js'

const MARGIN = 16 // px that stay free at the window's sides

/** @param {string} text @param {HTMLElement} panel @param {{opened?: () => void}} [on] */
export function mountPopover(text, panel, { opened } = {}) {
  const button = h('button', { class: 'btn quiet', type: 'button', 'aria-expanded': 'false', 'aria-haspopup': 'dialog', onclick: () => toggle(panel.hidden) }, text)
  const el = h('span', { class: 'popover' }, button, panel)
  panel.hidden = true
  panel.classList.add('floating')

  /** @param {boolean} open */
  function toggle(open) {
    panel.hidden = !open
    attr(button, 'aria-expanded', open)
    if (!open) return
    opened?.()
    css(panel, { left: 0 })
    const { left, right } = panel.getBoundingClientRect()
    const over = right - (document.documentElement.clientWidth - MARGIN)
    css(panel, { left: -Math.max(0, Math.min(over, left - MARGIN)) })
    const first = panel.querySelector('input, button')
    if (first instanceof HTMLElement) first.focus()
  }
  document.addEventListener('pointerdown', (event) => !panel.hidden && event.target instanceof Node && !el.contains(event.target) && toggle(false))
  el.addEventListener('focusout', (event) => event.relatedTarget instanceof Node && !el.contains(event.relatedTarget) && toggle(false))
  el.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || panel.hidden || event.defaultPrevented) return
    event.preventDefault()
    toggle(false)
    button.focus()
  })
  return { el, button, toggle }
}
