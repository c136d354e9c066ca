// A short sum beside its result: in numbers where they fit into the column, else with letters in their place. The sentence of the step has it whole.

import { attr, h, put } from '../../dom.js'

/** @typedef {ReturnType<typeof mountSum>} Sum */

/** @param {string} look */
export function mountSum(look) {
  const el = h('span', { class: `why ${look}` })
  /** @type {string[]} */ let letters = []
  /** @type {string[]|null} */ let numbers = null
  let written = ''

  /** Numbers, letters and signs in turn. @param {string[]} pieces */
  function write(pieces) {
    const text = pieces.join(' ').trim()
    if (written === text) return
    written = text
    put(el, ...pieces.flatMap((piece, at) => [at ? ' ' : '', /^[×+÷=]$/.test(piece) ? h('em', {}, piece) : piece]))
  }

  return {
    el,
    /** @param {boolean} here whether the sum has been done @param {string[]} short @param {string[]|null} [long] in numbers, where there are any */
    update(here, short, long = null) {
      el.classList.toggle('later', !here)
      attr(el, 'aria-hidden', here ? null : true)
      ;[letters, numbers] = [short, long]
      write(long ?? short)
    },
    /** Before the widths are read: as it stands where there is room. */
    whole: () => write(numbers ?? letters),
    /** Whether a part of it would not be seen. */
    cut: () => el.scrollWidth > el.clientWidth,
    shorten: () => write(letters),
  }
}

/** Writes those that are wider than their columns in letters; reads all widths at once. @param {Sum[]} sums */
export function fitSums(sums) {
  for (const one of sums) one.whole()
  const cut = sums.filter((one) => one.cut())
  for (const one of cut) one.shorten()
}
