// What the top bar has beside light or dark and the keys: the link to copy, and links to other pages that take along what is looked at.

import { part, put, say } from '../dom.js'
import { carried } from '../pure/spelling.js'
import * as dialogs from '../views/dialogs.js'

/** @param {() => string} link the whole address of this view @returns {() => Promise<void>} copies it */
export function mountBar(link) {
  async function copy() {
    const text = link()
    const button = part('copy')
    try {
      await navigator.clipboard.writeText(text)
      put(button, 'Copied')
      say(part('live'), 'Link copied')
      setTimeout(() => put(button, 'Copy link'), 1400)
    } catch {
      dialogs.showText('Link to this view', text)
    }
  }
  for (const other of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('nav a[data-carry]'))) {
    const aim = () => (other.href = other.dataset.carry + carried(new URL(link()).search))
    for (const name of ['pointerdown', 'focus', 'click']) other.addEventListener(name, aim)
  }
  part('copy').addEventListener('click', copy)
  return copy
}
