// Rulers along the plane: positions, or where cells are large enough the tokens; tabs for what is chosen and pointed at.

import { attr, css, h, put } from '../../dom.js'
import { LETTERED_FROM, ticksOf } from '../../pure/map/view.js'
import { count } from '../../pure/number.js'

/** @typedef {{from: number, scale: number, length: number, cells: number, word: (at: number) => string, chosen: number|null, pointed: number|null, rules: {at: number, word: string}[]}} Data from: the cell at the edge of the plane; length: its px */

const APART = { top: 72, left: 30 } // px between ticks
const TAB = { top: 62, left: 20 } // px around a tab in which no tick stands

const LETTER = 10 // px that an upright letter takes, with the gap beside it

const NAMED = 15 // px around a name in which no tick stands

/** @param {HTMLElement} el @param {"top"|"left"} side */
export function mountRuler(el, side) {
  const along = side === 'top' ? 'left' : 'top'
  const letter = side === 'top' ? 'j' : 'i'
  return {
    /** @param {Data} data */
    update({ from, scale, length, cells, word, chosen, pointed, rules }) {
      const lettered = scale >= LETTERED_FROM
      attr(el, 'data-lettered', lettered ? '' : null)
      const middle = (/** @type {number} */ at) => (at - from + (lettered || scale > 3 ? 0.5 : 0)) * scale
      const inside = (/** @type {number} */ at) => middle(at) >= -1 && middle(at) <= length + 1
      /** @type {HTMLElement[]} */ const out = []
      const tabs = [...(chosen === null ? [] : [{ at: chosen, kind: 'chosen' }]), ...(pointed === null || pointed === chosen ? [] : [{ at: pointed, kind: 'pointed' }])].filter(({ at }) => inside(at))
      const free = (/** @type {number} */ at, /** @type {number} */ room) => tabs.every((tab) => Math.abs(middle(tab.at) - middle(at)) >= room)
      const named = side === 'left' ? rules.filter((rule) => inside(rule.at) && free(rule.at, TAB[side])) : []
      const clear = (/** @type {number} */ at) => named.every((rule) => Math.abs(middle(rule.at) - middle(at)) >= NAMED)
      const visible = Math.min(length / scale, cells - from)
      let longest = 0
      if (lettered) {
        for (let at = Math.max(0, Math.floor(from)); at < Math.min(cells, from + length / scale); at++) {
          if (middle(at) < 0 || middle(at) > length) continue
          const tab = tabs.find((one) => one.at === at)
          const text = word(at)
          longest = Math.max(longest, [...text].length)
          out.push(placed(h('span', { class: tab ? `word ${tab.kind}` : 'word', title: count(at) }, text), along, middle(at)))
        }
      } else {
        for (const at of ticksOf(from, visible, scale, APART[side])) if (inside(at) && free(at, TAB[side]) && clear(at)) out.push(placed(h('span', { class: at === 0 ? 'tick zero' : 'tick' }, count(at)), along, middle(at)))
        for (const rule of named) out.push(placed(h('span', { class: 'tick named' }, rule.word), along, middle(rule.at)))
      }
      for (const { at, kind } of tabs) if (!lettered) out.push(placed(h('b', { class: `tab ${kind}` }, `${letter} ${count(at)}`), along, middle(at)))
      attr(el, 'data-upright', lettered && longest * LETTER <= scale ? '' : null)
      put(el, ...out)
      if (side === 'top') for (const one of out) keepInside(one, length)
    },
  }
}

/** @param {HTMLElement} el @param {string} along @param {number} px */
function placed(el, along, px) {
  css(el, { [along]: px })
  return el
}

/** A label at an end is moved rather than cut. @param {HTMLElement} el @param {number} length */
function keepInside(el, length) {
  if (el.classList.contains('word')) return
  const half = el.offsetWidth / 2
  const at = parseFloat(el.style.left)
  if (at + half > length + 30) css(el, { left: length + 30 - half })
  if (at - half < -30) css(el, { left: half - 30 })
}
