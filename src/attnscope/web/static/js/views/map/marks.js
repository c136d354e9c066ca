// Lines and names over the plane: they take no pointer and hide no number.

import { css, h, put, s } from '../../dom.js'
import { edgeOf } from '../../pure/map/marks.js'
import { pointOf, shown } from '../../pure/map/view.js'

const STEPS_FROM = 3 // px of a cell from which an edge goes around cells rather than through them
const SMALLEST = 6 // px of a document whose outline is drawn

/** @typedef {import("./plane.js").Data} Data @typedef {import("../../pure/map/view.js").Size} Size @typedef {import("../../pure/map/marks.js").Mark} Mark */

/** @param {HTMLElement} el @param {Data} data @param {Size} size */
export function drawMarks(el, data, size) {
  const lines = data.marks.flatMap((mark) => lineOf(mark, data, size))
  const svg = s('svg', { width: size.width, height: size.height }, ...lines)
  const pads = data.marks.flatMap((mark) => (mark.kind === 'pad' ? [padOf(mark, data, size)] : []))
  put(el, svg, ...pads, ...data.callouts.flatMap((callout) => calloutOf(callout, data, size)))
}

/** @param {Mark} mark @param {Data} data @param {Size} size @returns {SVGElement[]} */
function lineOf(mark, { view, grid, offset }, { width, height }) {
  if (mark.kind === 'pad') return []
  const end = pointOf(view, { i: grid.tq, j: grid.tk })
  const [right, bottom] = [Math.min(width, end.x), Math.min(height, end.y)]
  if (mark.kind === 'rule') {
    const { x, y } = pointOf(view, { i: mark.at, j: mark.at })
    const d = mark.side === 'row' ? `M0 ${y}H${right}` : `M${x} 0V${bottom}`
    const inside = mark.side === 'row' ? y > 0 && y < height : x > 0 && x < width
    return inside ? [s('path', { d, class: 'rule' })] : []
  }
  if (mark.kind === 'document') {
    const [a, b] = [pointOf(view, { i: mark.first - offset, j: mark.first }), pointOf(view, { i: mark.end - offset, j: mark.end })]
    const outside = b.x < 0 || b.y < 0 || a.x > width || a.y > height
    return outside || b.x - a.x < SMALLEST ? [] : [s('path', { d: `M${a.x} ${a.y}H${b.x}V${b.y}H${a.x}Z`, class: 'document' })]
  }
  const corners = edgeOf({ distance: mark.distance, offset }, shown(view, grid, { width, height }).rows, view.scale >= STEPS_FROM)
  return [s('path', { d: `M${corners.map((corner) => pointOf(view, corner)).map(({ x, y }) => `${x} ${y}`).join('L')}`, class: 'edge' })]
}

/** @param {Extract<Mark, {kind: "pad"}>} mark @param {Data} data @param {Size} size */
function padOf(mark, { view, grid }, { width, height }) {
  const [left, right] = [pointOf(view, { i: 0, j: mark.first }).x, pointOf(view, { i: 0, j: mark.end }).x]
  const el = h('i', { class: 'pad' })
  css(el, { left: Math.max(0, left), width: Math.max(0, Math.min(width, right) - Math.max(0, left)), top: 0, height: Math.min(height, pointOf(view, { i: grid.tq, j: 0 }).y) })
  return el
}

/** @param {import("../../pure/map/marks.js").Callout} callout @param {Data} data @param {Size} size */
function calloutOf({ i, j, name, text }, { view }, { width, height }) {
  const { x, y } = pointOf(view, { i, j })
  if (x < -4 || y < 0 || x > width - 190 || y > height - 30) return []
  const el = h('span', { class: 'callout' }, h('b', {}, name), ` ${text}`)
  css(el, { left: x + 22, top: y - 12 })
  const lead = h('i', { class: 'lead' })
  css(lead, { left: x + 2, top: y, width: 20 })
  return [lead, el]
}
