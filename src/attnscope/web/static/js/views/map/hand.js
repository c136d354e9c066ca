// The hand on the plane: drag, wheel, two fingers, a click, the pointer that only looks.

import { held, isWhole, panned, zoomed, zoomedIn } from '../../pure/map/view.js'

/** @typedef {import("../../pure/map/view.js").View} View @typedef {import("../../pure/map/view.js").Point} Point */
/**
 * @typedef {{view: () => View|null, grid: () => import("../../pure/map/view.js").Grid|null, size: () => import("../../pure/map/view.js").Size,
 *   turn: (view: View) => void, click: (at: Point) => void, move: (at: Point|null) => void, passed: () => void}} Hands
 * passed: the wheel went by, to the page
 */

const STILL = 4 // px that a click may wander

/** @param {HTMLElement} el @param {Hands} hands */
export function listenTo(el, hands) {
  /** @type {Map<number, Point>} pointers that are down */ const down = new Map()
  /** @type {Point|null} where the press that may become a click began */ let press = null

  const at = (/** @type {MouseEvent} */ event) => {
    const box = el.getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }
  /** @param {(view: View) => View} change */
  function turn(change) {
    const [view, grid] = [hands.view(), hands.grid()]
    if (view && grid) hands.turn(held(change(view), grid, hands.size()))
  }

  el.addEventListener('wheel', (event) => {
    const [view, grid] = [hands.view(), hands.grid()]
    if (!view || !grid) return
    if (!meant(event, el, isWhole(view, grid, hands.size()))) return hands.passed()
    event.preventDefault()
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1
    if (event.shiftKey) return turn((now) => panned(now, -(event.deltaX || event.deltaY) * lines, -(event.deltaX ? event.deltaY : 0) * lines))
    hands.turn(zoomedIn(view, 2 ** (-Math.max(-240, Math.min(240, event.deltaY * lines)) / 160), at(event), grid, hands.size()))
  }, { passive: false })

  el.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return
    el.focus({ preventScroll: true })
    el.setPointerCapture(event.pointerId)
    down.set(event.pointerId, at(event))
    press = down.size === 1 ? at(event) : null
  })
  el.addEventListener('pointermove', (event) => {
    const now = at(event)
    const before = down.get(event.pointerId)
    if (!before) return event.pointerType === 'touch' ? undefined : hands.move(now)
    const others = [...down].filter(([id]) => id !== event.pointerId).map(([, point]) => point)
    if (press && Math.hypot(now.x - press.x, now.y - press.y) > STILL) press = null
    if (press) return
    down.set(event.pointerId, now)
    hands.move(null)
    if (!others.length) return turn((view) => panned(view, now.x - before.x, now.y - before.y))
    const [other] = others
    const apart = (/** @type {Point} */ one) => Math.max(8, Math.hypot(one.x - other.x, one.y - other.y))
    turn((view) => zoomed(panned(view, (now.x - before.x) / 2, (now.y - before.y) / 2), apart(now) / apart(before), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 }))
  })
  const up = (/** @type {PointerEvent} */ event) => {
    const had = down.delete(event.pointerId)
    if (had && press && event.type === 'pointerup') hands.click(press)
    press = null
  }
  el.addEventListener('pointerup', up)
  el.addEventListener('pointercancel', up)
  el.addEventListener('pointerleave', () => hands.move(null))
  el.addEventListener('dblclick', (event) => {
    const [view, grid] = [hands.view(), hands.grid()]
    if (view && grid) hands.turn(zoomedIn(view, 4, at(event), grid, hands.size()))
  })
}

/**
 * Whether the wheel is meant for the map. Where the page itself can be scrolled the map takes it only with Ctrl, or once it was pressed, and lets it go at the whole grid.
 * @param {WheelEvent} event @param {HTMLElement} el @param {boolean} whole the whole grid is shown
 */
function meant(event, el, whole) {
  const page = document.documentElement
  if (page.scrollHeight <= page.clientHeight || event.ctrlKey || event.metaKey) return true
  return document.activeElement === el && !(whole && event.deltaY > 0)
}
