// Where a number comes from: pointing at it, or coming to it with the arrows, marks the numbers it was made of and lists them.

import { css, h, put } from '../../dom.js'
import { fixed } from '../../pure/number.js'
import { typed } from '../../pure/walk/format.js'
import { operandsOf } from '../../pure/walk/values.js'
import { refKey, refOf } from './model.js'
import { nameOf, sourcesOf } from './names.js'

/** @typedef {import("./model.js").Model} Model */

const MOST_SOURCES = 8 // lines of a tooltip
const GAP = 8 // px between a number and its tooltip
const REST = 700 // ms a field has the focus before its tooltip comes: who types is not to be covered
/** @type {Record<string, [number, number]>} where an arrow leads: right, down */
const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }

/** @param {HTMLElement} root what holds every number @param {{say: (sentence: string) => void, leave: () => void}} on leave: Esc was pressed on a number */
export function mountTrace(root, on) {
  const tip = h('div', { class: 'tip trace', hidden: true, 'aria-hidden': 'true' })
  root.append(tip)
  /** @type {Model|null} */ let model = null
  /** @type {HTMLElement|null} the number that is traced */ let shown = null
  /** @type {HTMLElement|null} the number that the Tab key comes to */ let stop = null
  let rest = 0

  /** @param {EventTarget|null} target @returns {HTMLElement|null} a number that has been made */
  const numberAt = (target) => {
    const el = target instanceof HTMLElement ? target.closest('[data-ref]') : null
    return el instanceof HTMLElement && !el.classList.contains('later') && !el.closest('.later') ? el : null
  }
  const numbers = () => [...root.querySelectorAll('[data-ref]')].map((el) => /** @type {HTMLElement} */ (el)).filter((el) => numberAt(el) && el.offsetParent !== null)

  function clear() {
    clearTimeout(rest)
    shown = null
    tip.hidden = true
    for (const el of root.querySelectorAll('.from, .traced')) el.classList.remove('from', 'traced')
  }

  /** @param {HTMLElement} el @param {boolean} [quiet] without the tooltip */
  function trace(el, quiet = false) {
    clear()
    if (!model) return
    shown = el
    const ref = refOf(el.dataset.ref ?? '')
    const operands = operandsOf(model.recipe, model.sheet, ref)
    const keys = new Set(operands.map(refKey))
    for (const other of root.querySelectorAll('[data-ref]')) {
      const key = other.getAttribute('data-ref') ?? ''
      if (keys.has(key)) other.classList.add('from')
      if (key === el.dataset.ref) other.classList.add('traced')
    }
    const sources = sourcesOf(model, operands)
    put(tip, h('div', { class: 'dim' }, nameOf(model, ref)), h('b', {}, places(model.values.at(ref.grid, ...ref.at))),
      ...(sources.length ? [h('dl', {}, ...sources.slice(0, MOST_SOURCES).flatMap(({ name, values }) => [h('dt', {}, name), h('dd', {}, vector(values))]))] : [h('div', { class: 'faint' }, origin(ref))]))
    tip.hidden = quiet
    if (!quiet) place(el)
  }

  /** Under the number, or over it where there is no room; never past the sides. @param {HTMLElement} el */
  function place(el) {
    const [box, at] = [root.getBoundingClientRect(), el.getBoundingClientRect()]
    const floor = document.querySelector('.player')?.getBoundingClientRect().top ?? innerHeight
    const below = at.bottom + GAP + tip.offsetHeight < floor
    const left = Math.max(0, Math.min(box.width - tip.offsetWidth, at.left - box.left + at.width / 2 - tip.offsetWidth / 2))
    css(tip, { left, top: below ? at.bottom - box.top + GAP : at.top - box.top - GAP - tip.offsetHeight })
  }

  /** @param {HTMLElement} el */
  function announce(el) {
    if (!model) return
    const ref = refOf(el.dataset.ref ?? '')
    const sources = sourcesOf(model, operandsOf(model.recipe, model.sheet, ref)).map(({ name, values }) => `${name} ${vector(values)}`)
    on.say(`${nameOf(model, ref)}, ${places(model.values.at(ref.grid, ...ref.at))}, ${sources.length ? `from ${sources.join(', ')}` : origin(ref)}`)
  }

  root.addEventListener('pointerover', (event) => {
    const el = numberAt(event.target)
    if (el && el !== shown) trace(el)
    else if (!el && shown && shown !== document.activeElement) clear()
  })
  root.addEventListener('pointerleave', () => shown !== document.activeElement && clear())
  root.addEventListener('focusin', (event) => {
    const el = numberAt(event.target)
    if (!el) return clear()
    trace(el, el.matches('input'))
    if (el.matches('input')) {
      rest = setTimeout(() => shown === el && trace(el), REST)
      return
    }
    announce(el)
    if (stop) stop.tabIndex = -1
    stop = el
    el.tabIndex = 0
  })
  root.addEventListener('focusout', clear)
  root.addEventListener('input', () => {
    clearTimeout(rest)
    tip.hidden = true
  })
  root.addEventListener('keydown', (event) => {
    const el = numberAt(event.target)
    const arrow = ARROWS[event.key]
    if (!el || event.altKey || event.metaKey || event.ctrlKey || event.shiftKey) return
    if (event.key === 'Escape' && !el.matches('input')) return on.leave()
    if (!arrow || (el.matches('input') && arrow[0])) return
    const next = nearest(el, numbers().filter((other) => other.matches('input') === el.matches('input')), arrow)
    event.preventDefault()
    next?.focus()
  })

  return {
    clear,
    /** @param {Model} next */
    update(next) {
      model = next
      if (!stop?.isConnected || !numberAt(stop) || stop.offsetParent === null) {
        if (stop) stop.tabIndex = -1
        stop = numbers().find((el) => !el.matches('input')) ?? null
        if (stop) stop.tabIndex = 0
      }
      if (shown && numberAt(shown) && shown.isConnected) trace(shown, tip.hidden)
      else clear()
    },
  }
}

/** The number an arrow leads to: on the same line if there is one, else the nearest on the next. @param {HTMLElement} from @param {HTMLElement[]} all @param {[number, number]} arrow */
function nearest(from, all, [right, down]) {
  const middle = (/** @type {HTMLElement} */ el) => {
    const { left, top, width, height } = el.getBoundingClientRect()
    return { x: left + width / 2, y: top + height / 2 }
  }
  const at = middle(from)
  let best = null
  let least = Infinity
  for (const el of all) {
    const to = middle(el)
    const [along, aside] = right ? [(to.x - at.x) * right, Math.abs(to.y - at.y)] : [(to.y - at.y) * down, Math.abs(to.x - at.x)]
    if (along < 2 || (right && aside > 16)) continue
    const far = along + (right ? aside : aside * 0.5)
    if (far < least) [best, least] = [el, far]
  }
  return best
}

/** A value to seven places, whole numbers as they are. @param {number} x */
const places = (x) => fixed(x, Number.isInteger(x) ? 0 : 7)

/** @param {number[]} values */
const vector = (values) => (values.length > 1 ? `[${values.map((x) => typed(x)).join(', ')}]` : typed(values[0]))

/** Why a number has no sources. @param {import("../../pure/walk/types.js").Ref} ref */
const origin = ({ grid }) => (grid === 'q' || grid === 'k' || grid === 'v' ? 'typed in, no longer the projection of x' : 'given')
