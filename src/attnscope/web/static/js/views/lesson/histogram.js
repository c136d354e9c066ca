// Two histograms on one axis: the first filled, the second as an outline over it. Each bin has its shares one hover or arrow key away.

import { attr, h, put, s } from '../../dom.js'
import { fixed } from '../../pure/number.js'
import { axisOver, placeOn, roundTicks, tickText } from '../../pure/ticks.js'

const SIZE = { height: 280, left: 34, right: 12, top: 38, foot: 40 }

/**
 * @param {{label: string, edges: number[], names: [string, string]}} opts edges: n + 1 of n bins; the outermost hold what lies beyond
 * @returns {{el: HTMLElement, update: (shares: [number[], number[]]|number[][]) => void}} shares: of all, in each bin
 */
export function mountHistogram({ label, edges, names }) {
  const svg = s('svg', { tabindex: '0', role: 'slider', 'aria-label': label, 'aria-valuemin': 0, 'aria-valuemax': edges.length - 2 })
  const reading = h('div', { class: 'histogram-read' })
  const el = h('div', { class: 'histogram' }, reading, svg)
  const across = { low: edges[0], high: edges[edges.length - 1], base: 0 }
  const px = (/** @type {number} */ x) => SIZE.left + placeOn(across, x) * (width - SIZE.left - SIZE.right)
  const middle = Math.floor((edges.length - 1) / 2)
  /** @type {number[][]} */
  let shares = [[], []]
  let at = middle
  let width = 480

  /** @param {number} bin */
  function read(bin) {
    at = bin
    const last = edges.length - 2
    const where = bin === 0 ? `under ${tickText(edges[1])}` : bin === last ? `over ${tickText(edges[last])}` : `${tickText(edges[bin])} to ${tickText(edges[bin + 1])}`
    put(reading, h('span', {}, `product ${where}`), ...names.map((name, n) => h('span', {}, h('i', { class: n ? 'scaled' : 'raw' }), `${name} `, h('b', {}, fixed(shares[n][bin], 4)))))
    attr(svg, 'aria-valuenow', bin)
    attr(svg, 'aria-valuetext', `product ${where}: share ${names.map((name, n) => `${name} ${fixed(shares[n][bin], 4)}`).join(', ')}`)
  }

  svg.addEventListener('keydown', (event) => {
    const key = /** @type {KeyboardEvent} */ (event).key
    const next = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: edges.length - 2 }[key]
    if (next === undefined) return
    event.preventDefault()
    event.stopPropagation()
    read(Math.min(Math.max(0, next), edges.length - 2))
  })
  svg.addEventListener('pointerleave', () => read(middle))

  function draw() {
    width = Math.max(240, Math.round(el.clientWidth || 480))
    attr(svg, 'viewBox', `0 0 ${width} ${SIZE.height}`)
    const up = axisOver(shares.flat())
    const foot = SIZE.height - SIZE.foot
    const py = (/** @type {number} */ y) => foot - placeOn(up, y) * (foot - SIZE.top)
    const outline = shares[1].map((y, bin) => `${bin ? 'L' : 'M'}${px(edges[bin]).toFixed(1)} ${py(y).toFixed(1)}H${px(edges[bin + 1]).toFixed(1)}`).join('')
    put(svg,
      ...roundTicks(up.low, up.high, 5).flatMap((tick) => [
        s('line', { class: 'grid-line', x1: SIZE.left, x2: width - SIZE.right, y1: py(tick), y2: py(tick) }),
        s('text', { x: SIZE.left - 6, y: py(tick) + 4, 'text-anchor': 'end' }, tickText(tick)),
      ]),
      ...shares[0].map((y, bin) => s('rect', { class: 'raw', x: px(edges[bin]), y: py(y), width: px(edges[bin + 1]) - px(edges[bin]) - 0.5, height: foot - py(y) })),
      s('path', { class: 'scaled', d: outline }),
      s('line', { class: 'axis', x1: SIZE.left, x2: width - SIZE.right, y1: foot, y2: foot }),
      ...roundTicks(across.low, across.high, width < 400 ? 5 : 8).map((x) => s('text', { x: px(x), y: foot + 16, 'text-anchor': 'middle' }, tickText(x))),
      s('text', { class: 'name', x: (SIZE.left + width - SIZE.right) / 2, y: SIZE.height - 6, 'text-anchor': 'middle' }, 'product'),
      s('text', { class: 'name', x: 0, y: 12 }, 'share of pairs'),
      ...shares[0].map((_, bin) => s('rect', { class: 'bin', x: px(edges[bin]), y: SIZE.top, width: px(edges[bin + 1]) - px(edges[bin]), height: foot - SIZE.top, onpointerenter: () => read(bin) })))
    read(at)
  }
  new ResizeObserver(() => {
    if (Math.round(el.clientWidth) !== width) draw()
  }).observe(el)

  return {
    el,
    update(given) {
      shares = given
      draw()
    },
  }
}
