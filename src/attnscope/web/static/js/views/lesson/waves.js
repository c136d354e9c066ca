// Position vectors as a picture, a column a position, in which one column is dragged; and how alike all others are to it.

import { attr, css, h, put, say } from '../../dom.js'
import { mountCurve } from '../../kit/curve.js'
import { mountLegend } from '../../kit/legend.js'
import { signedMap } from '../../kit/signed.js'
import { fixed } from '../../pure/number.js'
import { whole } from '../../pure/parameters.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */
/** @typedef {{position: number, others: number[], table: number[][], similarity: number[][], periods: number[]}} Waves @typedef {{similarity: number[][]}} Learned */

const PAGE = 8 // positions of Page Up and Page Down

/** @param {HTMLElement} el @param {{waves: Waves, learned: Learned}} data @param {On} on */
export function mountWaves(el, { waves, learned }, on) {
  const [t, d] = [waves.table.length, waves.table[0].length]
  let position = waves.position
  const choose = (/** @type {number} */ to) => {
    const next = Math.max(0, Math.min(t - 1, to))
    if (next !== position) on.change({ p: next === waves.position ? null : String(next) }, 'position')
  }
  const canvas = h('canvas', { width: t, height: d, 'aria-hidden': 'true' })
  const column = h('div', { class: 'column', style: { width: `${100 / t}%` } })
  const plane = h('div', {
    class: 'wave-plane', tabindex: '0', role: 'slider', 'aria-label': 'Position in the picture of waves', 'aria-valuemin': '0', 'aria-valuemax': t - 1, 'aria-orientation': 'horizontal',
  }, canvas, column)
  const reading = h('p', { class: 'small dim wave-read' })
  const curve = mountCurve({ label: 'Cosine similarity with the chosen position', x: { label: 'position', min: 0, max: t - 1 }, y: { label: 'cosine similarity', min: -0.5, max: 1 }, height: 300 })
  const legend = mountLegend({ ticks: ['−1', '0', '1'], means: 'a number of the vector' })
  const table = h('tbody')
  const caption = h('caption')
  put(el, h('div', { class: 'waves' },
    h('div', {},
      h('div', { class: 'wave-box' },
        h('div', { class: 'side' }, h('span', {}, 'fast 0'), h('span', {}, `slow ${d - 1}`)), plane,
        h('div', { class: 'feet' }, h('span', {}, '0'), h('span', {}, 'position'), h('span', {}, String(t - 1)))),
      reading, legend.el),
    h('div', {}, curve.el, h('div', { class: 'wide' }, h('table', { class: 'nums' }, caption, table)))))
  listen(plane, { t, d, choose, position: () => position, read: (at) => read(at) })

  /** What one cell of the picture holds, or how fast the waves are. @param {{p: number, c: number}|null} at */
  function read(at) {
    const fast = `One turn takes ${fixed(waves.periods[0], 2)} positions in the top pair, ${fixed(waves.periods[waves.periods.length - 1], 0)} in the lowest.`
    say(reading, at ? `Position ${at.p}, number ${at.c} of its vector: ${fixed(waves.table[at.p][at.c], 7)}` : fast)
  }

  /** @type {unknown} */
  let painted = null
  return {
    /** @param {Parameters} state */
    update(state) {
      position = whole(state.p, t) ?? waves.position
      const map = signedMap()
      if (painted !== map) paint(canvas, waves.table, map)
      painted = map
      legend.update(map)
      css(column, { left: `${(100 * position) / t}%` })
      attr(plane, 'aria-valuenow', position)
      attr(plane, 'aria-valuetext', `position ${position}`)
      const alike = (/** @type {number[][]} */ grid) => grid[position].map((y, x) => /** @type {[number, number]} */ ([x, y]))
      curve.update({
        series: [{ name: 'sinusoids', points: alike(waves.similarity), tone: 0 }, { name: 'learned', points: alike(learned.similarity), tone: 1 }],
        mark: { x: position, label: `position ${position}` },
      })
      put(caption, `Cosine similarity of position ${position} with`)
      put(table, h('tr', {}, h('th', { scope: 'row' }, 'position'), ...waves.others.map((other) => h('th', { scope: 'col' }, String(other)))),
        ...[{ name: 'sinusoids', grid: waves.similarity }, { name: 'learned', grid: learned.similarity }].map(({ name, grid }) =>
          h('tr', {}, h('th', { scope: 'row' }, name), ...waves.others.map((other) => h('td', { title: fixed(grid[position][other], 7) }, fixed(grid[position][other], 3))))))
      read(null)
    },
  }
}

/** @param {HTMLCanvasElement} canvas @param {number[][]} table @param {import("../../pure/colour.js").ColourMap} map */
function paint(canvas, table, map) {
  const [t, d] = [table.length, table[0].length]
  const pixels = new Uint32Array(t * d)
  const last = map.pixels.length - 1
  for (let c = 0; c < d; c++) for (let p = 0; p < t; p++) pixels[c * t + p] = map.pixels[Math.round(((table[p][c] + 1) / 2) * last)]
  canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), t, d), 0, 0)
}

/**
 * Pointer and keys of the picture.
 * @param {HTMLElement} plane
 * @param {{t: number, d: number, choose: (to: number) => void, position: () => number, read: (at: {p: number, c: number}|null) => void}} on
 */
function listen(plane, { t, d, choose, position, read }) {
  const under = (/** @type {PointerEvent} */ event) => {
    const box = plane.getBoundingClientRect()
    const part = (/** @type {number} */ at, /** @type {number} */ size, /** @type {number} */ n) => Math.max(0, Math.min(n - 1, Math.floor((at / size) * n)))
    return { p: part(event.clientX - box.left, box.width, t), c: part(event.clientY - box.top, box.height, d) }
  }
  plane.addEventListener('pointerdown', (event) => {
    if (event.button) return
    plane.setPointerCapture(event.pointerId)
    choose(under(event).p)
  })
  plane.addEventListener('pointermove', (event) => {
    if (plane.hasPointerCapture(event.pointerId)) choose(under(event).p)
    read(under(event))
  })
  plane.addEventListener('pointerleave', () => read(null))
  plane.addEventListener('keydown', (event) => {
    const at = position()
    const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, PageUp: at + PAGE, PageDown: at - PAGE, Home: 0, End: t - 1 }[event.key]
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    event.stopPropagation()
    choose(to)
  })
}
