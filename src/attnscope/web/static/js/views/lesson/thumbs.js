// All heads of one model as small pictures, layers down and heads across: one stop of the Tab key, arrows inside.

import { attr, css, h, put } from '../../dom.js'
import { moveInGrid } from '../../pure/keyboard.js'
import { paintThumbnail } from '../../pure/paint.js'

/** @typedef {import("../../pure/colour.js").ColourMap} ColourMap @typedef {import("../../pure/triangle.js").Triangle} Triangle @typedef {{layer: number, head: number}} Place */

/**
 * @param {{label: string, heads: Triangle[][], side: number, choose: (at: Place) => void, tells: (at: Place) => string}} opts side: px of a picture;
 *   tells: what a head is called aloud
 */
export function mountThumbs({ label, heads, side, choose, tells }) {
  /** @type {Place} */
  let at = { layer: 0, head: 0 }
  /** @type {ColourMap|null} */
  let painted = null
  const cells = heads.map((line, layer) => line.map((_, head) => {
    const canvas = h('canvas', { 'aria-hidden': 'true' })
    const one = { layer, head }
    return h('div', { class: 'thumb', role: 'gridcell', tabindex: '-1', 'aria-label': tells(one), title: tells(one), onclick: () => choose(one) }, canvas)
  }))
  const names = h('div', { role: 'row', class: 'names' }, h('span', { role: 'columnheader' }, h('span', { class: 'sr' }, 'layer')), ...heads[0].map((_, head) => h('span', { role: 'columnheader' }, `H${head}`)))
  const el = h('div', { class: 'thumbs', role: 'grid', 'aria-label': label, 'aria-readonly': 'true' }, names,
    ...cells.map((line, layer) => h('div', { role: 'row' }, h('span', { role: 'rowheader' }, `L${layer}`), ...line)))
  css(el, { '--n': String(heads[0].length), '--thumb': side })
  el.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault()
      return choose(at)
    }
    const to = moveInGrid(event, { row: at.layer, column: at.head, rows: heads.length, columns: heads[0].length })
    if (!to) return
    event.preventDefault()
    event.stopPropagation()
    choose({ layer: to.row, head: to.column })
    cells[to.row][to.column].focus()
  })

  /** @param {ColourMap} map */
  function paint(map) {
    if (map === painted) return
    painted = map
    cells.forEach((line, layer) => line.forEach((cell, head) => {
      const { n, weights } = heads[layer][head]
      const size = Math.max(n, Math.floor((side * devicePixelRatio) / n) * n)
      const canvas = /** @type {HTMLCanvasElement} */ (cell.firstElementChild)
      Object.assign(canvas, { width: size, height: size })
      const pixels = paintThumbnail(weights, { rows: n, columns: n }, { width: size, height: size }, map.pixels)
      canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), size, size), 0, 0)
    }))
  }

  return {
    el,
    /** @param {Place} chosen @param {ColourMap} map */
    update(chosen, map) {
      at = chosen
      paint(map)
      cells.forEach((line, layer) => line.forEach((cell, head) => {
        const here = layer === chosen.layer && head === chosen.head
        attr(cell, 'aria-selected', here)
        cell.tabIndex = here ? 0 : -1
      }))
    },
    destroy: () => put(el),
  }
}
