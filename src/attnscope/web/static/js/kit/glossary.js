// The glossary's sentence at every word marked with data-term: by pointer, by Tab, by touch; Escape closes it.
// A word is a stop of the Tab key where it first stands in a chapter; a screen reader reads the sentence as its description.

import { attr, css, h, put } from '../dom.js'

/** @typedef {{term: string, says: string}} Entry */

const GAP = 6 // px between word and sentence
const EDGE = 8 // px kept free at the window's edges
const LINGER = 160 // ms, so that the pointer can move from the word onto the sentence

/** @param {HTMLElement} root @param {Entry[]} entries */
export function mountGlossary(root, entries) {
  const known = new Map(entries.map((entry, at) => [entry.term, { ...entry, id: `term-${at}` }]))
  const tip = h('div', { class: 'tip glossary', 'aria-hidden': 'true', hidden: true })
  // what a description points to may be hidden; the tooltip itself is for the eye
  const sentences = h('div', { hidden: true }, ...[...known.values()].map(({ id, says }) => h('span', { id }, says)))
  root.append(tip, sentences)
  /** @type {HTMLElement|null} */
  let at = null
  let leaving = 0

  /** @param {HTMLElement} word */
  function open(word) {
    clearTimeout(leaving)
    const entry = known.get(word.dataset.term ?? '')
    if (!entry || at === word) return
    at = word
    put(tip, h('b', {}, entry.term), h('span', {}, entry.says))
    tip.hidden = false
    place()
  }

  function close() {
    clearTimeout(leaving)
    at = null
    tip.hidden = true
  }

  function place() {
    if (!at) return
    const word = at.getClientRects()[0]
    if (!word) return close()
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight]
    const left = Math.max(EDGE, Math.min(word.left, document.documentElement.clientWidth - wide - EDGE))
    const below = word.bottom + GAP
    css(tip, { left, top: below + high > innerHeight - EDGE && word.top > high + GAP + EDGE ? word.top - GAP - high : below })
  }

  /** @param {Event} event @returns {HTMLElement|null} */
  const wordOf = (event) => {
    const found = event.target instanceof Element ? event.target.closest('[data-term]') : null
    return found instanceof HTMLElement ? found : null
  }
  /** @type {Record<string, (event: any) => void>} */
  const listeners = {
    pointerover: (event) => {
      const word = wordOf(event)
      if (word) open(word)
      else if (tip.contains(event.target)) clearTimeout(leaving)
    },
    pointerout: (event) => {
      const left = wordOf(event) !== null || tip.contains(event.target)
      if (!left || !at || at === document.activeElement) return
      clearTimeout(leaving)
      leaving = window.setTimeout(close, LINGER)
    },
    focusin: (event) => {
      const word = wordOf(event)
      if (word) open(word)
    },
    focusout: (event) => {
      if (wordOf(event)) close()
    },
    click: (event) => {
      const word = wordOf(event)
      if (word) open(word)
      else if (!tip.contains(event.target)) close()
    },
    keydown: (event) => {
      const word = wordOf(event)
      if (event.key === 'Escape' && at) close()
      else if (word && (event.key === 'Enter' || event.key === ' ')) open(word)
      else return
      event.preventDefault()
    },
  }
  for (const [name, listener] of Object.entries(listeners)) root.addEventListener(name, listener)
  addEventListener('scroll', place, { passive: true, capture: true })
  addEventListener('resize', close)

  return {
    close,
    /** Marks the words of a chapter; may be called again. @param {Element} section */
    decorate(section) {
      const met = new Set()
      for (const word of section.querySelectorAll('[data-term]')) {
        const term = word.getAttribute('data-term') ?? ''
        const entry = known.get(term)
        if (!entry) continue
        word.classList.add('term')
        attr(word, 'tabindex', met.has(term) ? null : 0)
        attr(word, 'aria-describedby', entry.id)
        if (word.localName !== 'dfn') attr(word, 'role', 'term')
        met.add(term)
      }
    },
    destroy() {
      close()
      for (const [name, listener] of Object.entries(listeners)) root.removeEventListener(name, listener)
      removeEventListener('scroll', place, { capture: true })
      removeEventListener('resize', close)
      tip.remove()
      sentences.remove()
    },
  }
}
