// The right end of the top bar, the same on every page: copy the link, light or dark, the keys.

import { put, say } from './dom.js'
import { carried } from './pure/spelling.js'
import * as dialogs from './views/dialogs.js'

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

/**
 * @param {{link: () => string, theme: () => void, keys: () => import("./pure/keyboard.js").KeyList}} on
 *   link: the whole address of this view; theme: turns light to dark and back; keys: what the dialog lists
 */
export function mountBar(on) {
  async function copy() {
    const link = on.link()
    const button = part('copy')
    try {
      await navigator.clipboard.writeText(link)
      put(button, 'Copied')
      say(part('live'), 'Link copied')
      setTimeout(() => put(button, 'Copy link'), 1400)
    } catch {
      dialogs.showText('Link to this view', link)
    }
  }
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('nav a[data-carry]'))) {
    const aim = () => (link.href = link.dataset.carry + carried(new URL(on.link()).search))
    for (const name of ['pointerdown', 'focus', 'click']) link.addEventListener(name, aim)
  }
  const showKeys = () => dialogs.showKeys(on.keys())
  part('copy').addEventListener('click', copy)
  part('theme').addEventListener('click', on.theme)
  part('keys').addEventListener('click', showKeys)
  return { copy, theme: on.theme, keys: showKeys }
}
