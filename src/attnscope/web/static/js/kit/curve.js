// A line chart: axes, a name at the end of each line, and a reading line that follows the pointer or the arrow keys.

import { attr, h, put, s, say } from '../dom.js'
import { fixed } from '../pure/number.js'
import { axisOver, placeOn, spreadOut, tickText, ticksOf } from '../pure/ticks.js'

/**
 * `dots` marks each point; `line: false` draws points alone.
 * @typedef {{name: string, points: [number, number][], tone: 0|1|2|3, dashed?: boolean, dots?: boolean, line?: boolean}} Series
 * @typedef {{label: string, log?: 2|10, ticks?: number[], min?: number, max?: number, format?: (x: number) => string,
 *   tick?: (x: number) => string}} AxisOptions format is of a number read, tick of a number on the axis
 * @typedef {{series: Series[], mark?: {x: number, label: string}|null, note?: string}} Curves
 * @typedef {{width: number, height: number, left: number, right: number, x: import("../pure/ticks.js").Axis, y: import("../pure/ticks.js").Axis}} Frame
 */

const TOP = 38 // px: the y axis's label, and under it the name of the mark
const FOOT = 40
const CHARACTER = 6.3 // px of a character of 12 px, on average
const NAMES_FROM = 480 // px of width from which names stand at the ends of their lines
const ROWS_TOLD = 40 // rows of the table that a screen reader is given

/**
 * @param {{label: string, x: AxisOptions, y: AxisOptions, height?: number}} opts
 * @returns {{el: HTMLElement, update: (data: Curves) => void}}
 */
export function mountCurve({ label, x, y, height = 280 }) {
  const formatX = x.format ?? tickText
  const formatY = y.format ?? ((/** @type {number} */ value) => fixed(value, 3))
  const svg = s('svg', { class: 'curve-plot', tabindex: '0', role: 'slider', 'aria-label': label, 'aria-orientation': 'horizontal' })
  const reading = h('div', { class: 'curve-reading' })
  const note = h('p', { class: 'curve-note small dim' })
  const table = h('div', { class: 'sr curve-table' })
  const el = h('figure', { class: 'curve' }, reading, svg, note, table)
  /** @type {Curves} */
  let data = { series: [] }
  /** @type {number[]} every x of every line, ascending */
  let stops = []
  /** @type {number|null} index into stops while a pointer or the keyboard reads */
  let at = null

  function draw() {
    const width = Math.max(240, Math.round(el.clientWidth || 640))
    const frame = frameOf(data, width)
    attr(svg, 'viewBox', `0 0 ${width} ${height}`)
    put(svg, ...axes(frame, x, y), ...data.series.flatMap((one) => line(frame, one)), ...names(frame), ...mark(frame), ...ruler(frame))
    read()
  }

  /** @param {Curves} curves @param {number} width @returns {Frame} */
  function frameOf(curves, width) {
    const points = curves.series.flatMap((one) => one.points)
    const xs = points.map((point) => point[0])
    const axisY = axisOver(points.map((point) => point[1]), { base: y.log, min: y.min, max: y.max })
    const axisX = axisOver(xs, { base: x.log, min: x.min ?? Math.min(...xs, x.log ? Infinity : 0), max: x.max ?? Math.max(...xs) })
    const longest = width < NAMES_FROM ? 0 : Math.max(0, ...curves.series.map((one) => one.name.length))
    const left = 12 + CHARACTER * Math.max(...ticksOf(axisY).map((tick) => (y.tick ?? tickText)(tick).length))
    return { width, height, left, right: Math.max(16, Math.min(width * 0.36, 14 + longest * CHARACTER)), x: axisX, y: axisY }
  }

  /** @param {Frame} frame */
  function names(frame) {
    if (frame.width < NAMES_FROM) return []
    const shown = data.series.filter((one) => one.points.length)
    const heights = spreadOut(shown.map((one) => py(frame, one.points[one.points.length - 1][1])), 15, TOP, frame.height - FOOT)
    return shown.map((one, at) => s('text', { class: `curve-name tone-${one.tone}`, x: frame.width - frame.right + 8, y: heights[at] + 4 }, one.name))
  }

  /** @param {Frame} frame */
  function mark(frame) {
    if (!data.mark) return []
    const x0 = px(frame, data.mark.x)
    const side = x0 > frame.width * 0.7 ? 'end' : x0 < frame.width * 0.2 ? 'start' : 'middle'
    const dots = data.series.flatMap((one) => one.points.filter((point) => point[0] === data.mark?.x))
    return [
      s('line', { class: 'curve-mark', x1: x0, x2: x0, y1: TOP - 6, y2: frame.height - FOOT }),
      s('text', { class: 'curve-mark-name', x: x0, y: 28, 'text-anchor': side }, data.mark.label),
      ...dots.map((point) => s('circle', { class: 'curve-mark-dot', cx: x0, cy: py(frame, point[1]), r: 4 })),
    ]
  }

  /** @param {Frame} frame */
  function ruler(frame) {
    if (at === null || stops[at] === undefined) return []
    const x0 = px(frame, stops[at])
    const spot = stops[at]
    const dots = data.series.map((one) => pointAt(one, spot)).filter((point) => point !== undefined)
    return [
      s('line', { class: 'curve-ruler', x1: x0, x2: x0, y1: TOP, y2: frame.height - FOOT }),
      ...dots.map((point) => s('circle', { class: 'curve-ruler-dot', cx: px(frame, point[0]), cy: py(frame, point[1]), r: 3 })),
    ]
  }

  /** The numbers of every line at the reading line, at the mark, or at the end. */
  function read() {
    const spot = at !== null ? stops[at] : (data.mark?.x ?? stops[stops.length - 1])
    const found = data.series.map((one) => ({ one, point: pointAt(one, spot) }))
    const where = spot === undefined ? '' : `${x.label} ${formatX(spot)}`
    put(
      reading,
      h('span', { class: 'dim' }, where),
      ...found.map(({ one, point }) => h('span', { class: 'curve-key' }, swatch(one), one.name, ' ', h('b', {}, point ? formatY(point[1]) : '—'), point && point[0] !== spot ? ` at ${formatX(point[0])}` : null)),
    )
    const told = found.flatMap(({ one, point }) => (point ? [`${one.name} ${formatY(point[1])}${point[0] === spot ? '' : ` at ${formatX(point[0])}`}`] : []))
    attr(svg, 'aria-valuemin', 0)
    attr(svg, 'aria-valuemax', Math.max(0, stops.length - 1))
    attr(svg, 'aria-valuenow', Math.max(0, stops.indexOf(spot)))
    attr(svg, 'aria-valuetext', `${where}: ${told.join(', ')}`)
  }

  /** @param {number|null} index */
  function look(index) {
    if (index === at) return
    at = index
    draw()
  }

  svg.addEventListener('pointermove', (event) => {
    const frame = frameOf(data, Math.max(240, Math.round(el.clientWidth || 640)))
    const box = svg.getBoundingClientRect()
    const x0 = (/** @type {PointerEvent} */ (event).clientX - box.left) * (frame.width / box.width)
    look(nearest(stops.map((stop) => px(frame, stop)), x0))
  })
  svg.addEventListener('pointerleave', () => look(null))
  svg.addEventListener('blur', () => look(null))
  svg.addEventListener('keydown', (event) => {
    const key = /** @type {KeyboardEvent} */ (event).key
    const from = at ?? Math.max(0, stops.indexOf(data.mark?.x ?? stops[stops.length - 1]))
    const next = { ArrowRight: from + 1, ArrowUp: from + 1, ArrowLeft: from - 1, ArrowDown: from - 1, Home: 0, End: stops.length - 1 }[key]
    if (next === undefined || !stops.length) return
    event.preventDefault()
    event.stopPropagation()
    look(Math.min(Math.max(0, next), stops.length - 1))
  })
  let width = 0
  new ResizeObserver(() => {
    if (Math.round(el.clientWidth) === width) return
    width = Math.round(el.clientWidth)
    draw()
  }).observe(el)

  return {
    el,
    update(curves) {
      data = curves
      stops = [...new Set(curves.series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b)
      if (at !== null && at >= stops.length) at = null
      say(note, curves.note ?? '')
      note.hidden = !curves.note
      put(table, tableOf(label, x.label, curves.series, stops, formatX, formatY))
      draw()
    },
  }
}

/** The point of a line that is nearest to x. @param {Series} one @param {number} x @returns {[number, number]|undefined} */
const pointAt = (one, x) => one.points.reduce((/** @type {[number, number]|undefined} */ best, point) => (best && Math.abs(best[0] - x) <= Math.abs(point[0] - x) ? best : point), undefined)

/** @param {Frame} frame @param {number} x */
const px = (frame, x) => frame.left + placeOn(frame.x, x) * (frame.width - frame.left - frame.right)

/** @param {Frame} frame @param {number} y */
const py = (frame, y) => frame.height - FOOT - placeOn(frame.y, y) * (frame.height - FOOT - TOP)

/** @param {Frame} frame @param {Series} one */
function line(frame, one) {
  const held = one.points.filter((point) => Number.isFinite(point[1]) && (!frame.y.base || point[1] > 0))
  const path = held.map((point, at) => `${at ? 'L' : 'M'}${px(frame, point[0]).toFixed(1)} ${py(frame, point[1]).toFixed(1)}`).join('')
  const dots = one.dots || one.line === false || held.length === 1 ? held : []
  return [
    one.line === false ? null : s('path', { class: `curve-line tone-${one.tone}${one.dashed ? ' dashed' : ''}`, d: path }),
    ...dots.map((point) => s('circle', { class: `curve-dot tone-${one.tone}`, cx: px(frame, point[0]), cy: py(frame, point[1]), r: 2.5 })),
  ]
}

/** @param {Frame} frame @param {AxisOptions} x @param {AxisOptions} y */
function axes(frame, x, y) {
  const foot = frame.height - FOOT
  const end = frame.width - frame.right
  const across = x.ticks ?? ticksOf(frame.x, frame.width < 480 ? 5 : 8)
  return [
    ...ticksOf(frame.y).flatMap((tick) => [
      s('line', { class: 'curve-grid', x1: frame.left, x2: end, y1: py(frame, tick), y2: py(frame, tick) }),
      s('text', { class: 'curve-tick', x: frame.left - 8, y: py(frame, tick) + 4, 'text-anchor': 'end' }, (y.tick ?? tickText)(tick)),
    ]),
    s('line', { class: 'curve-axis', x1: frame.left, x2: end, y1: foot, y2: foot }),
    ...across.map((tick) => s('text', { class: 'curve-tick', x: px(frame, tick), y: foot + 16, 'text-anchor': 'middle' }, (x.tick ?? tickText)(tick))),
    s('text', { class: 'curve-label', x: (frame.left + end) / 2, y: frame.height - 6, 'text-anchor': 'middle' }, x.label),
    s('text', { class: 'curve-label', x: 0, y: 12 }, y.label),
  ]
}

/** @param {Series} one */
function swatch(one) {
  const kind = `tone-${one.tone}`
  const drawn = one.line === false
    ? s('circle', { class: `curve-dot ${kind}`, cx: 8, cy: 4, r: 2.5 })
    : s('line', { class: `curve-line ${kind}${one.dashed ? ' dashed' : ''}`, x1: 0, x2: 16, y1: 4, y2: 4 })
  return s('svg', { class: 'curve-swatch', viewBox: '0 0 16 8', 'aria-hidden': 'true' }, drawn)
}

/** @param {number[]} places ascending @param {number} x */
function nearest(places, x) {
  let best = 0
  for (let at = 1; at < places.length; at++) if (Math.abs(places[at] - x) < Math.abs(places[best] - x)) best = at
  return best
}

/** @param {string} label @param {string} first @param {Series[]} series @param {number[]} stops @param {(x: number) => string} formatX @param {(y: number) => string} formatY */
function tableOf(label, first, series, stops, formatX, formatY) {
  const every = Math.max(1, Math.ceil(stops.length / ROWS_TOLD))
  const rows = stops.filter((_, at) => at % every === 0 || at === stops.length - 1)
  const held = series.map((one) => new Map(one.points))
  return h(
    'table',
    {},
    h('caption', {}, every > 1 ? `${label}; every ${every}th point` : label),
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, first), ...series.map((one) => h('th', { scope: 'col' }, one.name)))),
    h('tbody', {}, ...rows.map((x) => h('tr', {}, h('th', { scope: 'row' }, formatX(x)), ...held.map((points) => h('td', {}, points.has(x) ? formatY(/** @type {number} */ (points.get(x))) : '—'))))),
  )
}
