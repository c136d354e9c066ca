// What the reader's change did, told to a screen reader: of the sentences of a chapter, those that are others than before.

/**
 * @param {HTMLElement} el the chapter's section @param {string} where a selector of its sentences @param {(sentence: string) => void} say
 * @returns {() => void} to be called after each update; the first one is silent
 */
export function mountTeller(el, where, say) {
  /** @type {string[]|null} */
  let before = null
  return () => {
    const now = [...el.querySelectorAll(where)].map((one) => one.textContent ?? '')
    const fresh = now.filter((text, at) => before && text !== before[at])
    before = now
    if (fresh.length) say(fresh.join(' '))
  }
}
