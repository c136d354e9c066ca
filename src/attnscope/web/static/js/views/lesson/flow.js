// The pipeline as boxes and arrows, each arrow with its shape; the chosen box says what it does.

import { h, put, s } from '../../dom.js'
import { lay, line } from '../../pure/flow.js'
import { count } from '../../pure/number.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */
/** @typedef {import("../../pure/flow.js").Box} Box @typedef {import("../../pure/flow.js").Arrow} Arrow @typedef {import("../../pure/flow.js").Laid} Laid */
/** @typedef {{t: number, d_model: number, d: number, boxes: Box[], arrows: Arrow[]}} Pipeline */

const FIRST = 'scores'
const LEAST = 200 // px; less is a layout on its way

/** @param {HTMLElement} el @param {Pipeline} data @param {On} on */
export function mountFlow(el, data, on) {
  const place = h('div', { class: 'flow-box' })
  const says = h('p', { class: 'flow-says' })
  const sizes = h('p', { class: 'caption' }, `t = ${count(data.t)} tokens, d_model = ${count(data.d_model)}, one head of d = ${count(data.d)}. Point at a box, or move with the arrow keys.`)
  put(el, place, says, sizes)
  let chosen = FIRST

  /** @param {Box|undefined} box */
  const tell = (box) => box && put(says, h('b', {}, ...named(box.text, (letter) => h('sub', {}, letter))), ` ${box.says}`)
  const boxOf = (/** @type {EventTarget|null} */ target) => (target instanceof Element ? target.closest('[data-box]')?.getAttribute('data-box') ?? null : null)
  const found = (/** @type {string|null} */ id) => data.boxes.find((box) => box.id === id)

  /** @param {string} id */
  function choose(id) {
    on.change({ box: id === FIRST ? null : id }, 'box')
    const made = place.querySelector(`[data-box="${id}"]`)
    if (made instanceof SVGElement) made.focus()
  }
  place.addEventListener('pointerover', (event) => tell(found(boxOf(event.target)) ?? found(chosen)))
  place.addEventListener('pointerleave', () => tell(found(chosen)))
  place.addEventListener('click', (event) => {
    const id = boxOf(event.target)
    if (id) choose(id)
  })
  place.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
    const at = data.boxes.findIndex((box) => box.id === chosen)
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? data.boxes.length - 1 : step ? at + step : -1
    if (!data.boxes[to]) return
    event.preventDefault()
    choose(data.boxes[to].id)
  })

  function draw() {
    if (place.clientWidth < LEAST) return
    const focused = place.contains(document.activeElement)
    put(place, picture(data, lay(data.boxes, place.clientWidth, matchMedia('(pointer: coarse)').matches ? 44 : 34), chosen))
    if (focused) /** @type {SVGElement|null} */ (place.querySelector(`[data-box="${chosen}"]`))?.focus()
  }
  const size = new ResizeObserver(draw)
  size.observe(place)

  return {
    /** @param {Parameters} state */
    update(state) {
      chosen = found(state.box ?? '')?.id ?? FIRST
      tell(found(chosen))
      draw()
    },
    destroy: () => size.disconnect(),
  }
}

/** @param {Pipeline} data @param {Laid} laid @param {string} chosen */
function picture({ boxes, arrows }, laid, chosen) {
  const lines = arrows.map((arrow) => {
    const { d, x, y, level } = line(laid, arrow, along(arrows, arrow))
    const near = arrow.start === chosen || arrow.end === chosen
    const [shape, axes] = [arrow.shape.map(count).join(' × '), arrow.axes.join(' × ')]
    const wide = Math.max(shape.length, axes.length) * 6.2
    return s('g', { class: near ? 'arrow near' : 'arrow', 'aria-hidden': 'true' }, s('path', { d, 'marker-end': 'url(#flow-head)' }),
      level ? null : s('rect', { x: x - wide / 2, y: y - 15, width: wide, height: 29 }), s('text', { x, y: y - (level ? 5 : 3), class: 'shape' }, shape), s('text', { x, y: y + (level ? 14 : 11), class: 'axes' }, axes))
  })
  const drawn = boxes.map((box) => {
    const { x, y, width, height } = /** @type {import("../../pure/flow.js").Placed} */ (laid.boxes.get(box.id))
    const picked = box.id === chosen
    return s('g', { class: 'step', role: 'option', 'data-box': box.id, 'aria-selected': String(picked), tabindex: picked ? 0 : -1, 'aria-label': `${box.text}: ${box.says} ${shapes(arrows, box.id)}` },
      s('rect', { x: x - width / 2, y: y - height / 2, width, height, rx: 6 }), s('text', { x, y: y + 4.5 }, ...named(box.text, (letter) => s('tspan', { class: 'sub', dy: 3 }, letter))))
  })
  const head = s('marker', { id: 'flow-head', viewBox: '0 0 8 8', refX: 6, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto', markerUnits: 'userSpaceOnUse' }, s('path', { d: 'M1 1 7 4 1 7' }))
  return s('svg', { class: 'flow', width: laid.width, height: laid.height, viewBox: `0 0 ${laid.width} ${laid.height}`, role: 'listbox', 'aria-label': 'The pipeline from X to the outputs' }, s('defs', { 'aria-hidden': 'true' }, head), ...lines, ...drawn)
}

/** Where lines part or meet, their shapes stand toward the ends that lie apart. @param {Arrow[]} arrows @param {Arrow} arrow */
function along(arrows, { start, end }) {
  if (arrows.filter((other) => other.start === start).length > 1) return 0.6
  return arrows.filter((other) => other.end === end).length > 1 ? 0.42 : 0.5
}

/** What comes in and goes out, for a screen reader. @param {Arrow[]} arrows @param {string} id */
function shapes(arrows, id) {
  const list = (/** @type {Arrow[]} */ some) => some.map(({ shape }) => shape.map(count).join(' by ')).join(' and ')
  const [into, out] = [arrows.filter((arrow) => arrow.end === id), arrows.filter((arrow) => arrow.start === id).slice(0, 1)]
  return [into.length ? `Takes ${list(into)}.` : '', out.length ? `Gives ${list(out)}.` : ''].join(' ').trim()
}

/** A text whose matrix W has its letter lowered. @param {string} text @param {(letter: string) => Element} lower */
function named(text, lower) {
  const [before, letter] = text.split(/W([qkv])$/)
  return letter ? [`${before}W`, lower(letter)] : [text]
}
