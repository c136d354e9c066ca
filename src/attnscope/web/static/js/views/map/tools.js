// The line of tools over the map: which head, what is drawn of it, what a pixel is, its colour, where to go, zoom.

import { h, icon, put } from '../../dom.js'
import { REDUCTIONS } from '../../pure/map/paint.js'
import { count } from '../../pure/number.js'
import { SCALES } from '../../pure/scale.js'
import { mountSeg } from '../seg.js'

/** @typedef {import("../../types.js").MapState} MapState */
/** @typedef {{heads: () => void, pixel: (pixel: MapState["pixel"]) => void, scale: (scale: MapState["scale"]) => void, go: (asked: string, back: boolean) => void, values: (values: boolean) => void, zoom: (factor: number) => void, whole: () => void}} On */

/** @param {HTMLElement} el @param {On} on */
export function mount(el, on) {
  const head = h('button', { class: 'btn head', type: 'button', 'aria-haspopup': 'dialog', onclick: on.heads })
  const size = h('span', { class: 'small dim wide' })
  const pixel = mountSeg('Each pixel', REDUCTIONS.map((value) => ({ value, text: value })), on.pixel)
  const scale = mountSeg('Colour', SCALES.map((value) => ({ value, text: value })), on.scale)
  const kinds = mountSeg('What is drawn', [{ value: 'weights', text: 'weight' }, { value: 'values', text: 'weight × value' }], (kind) => on.values(kind === 'values'))
  const field = h('input', { class: 'field', type: 'search', placeholder: 'Go to 1,200 or “a text”', 'aria-label': 'Go to a position, a cell or a text', autocomplete: 'off', spellcheck: 'false' })
  const said = h('span', { class: 'small said', role: 'status' })
  const out = h('button', { class: 'btn icon', type: 'button', 'aria-label': 'Zoom out', title: 'Zoom out (−)', onclick: () => on.zoom(0.5) }, icon('M3 7h8'))
  const closer = h('button', { class: 'btn icon', type: 'button', 'aria-label': 'Zoom in', title: 'Zoom in (+)', onclick: () => on.zoom(2) }, icon('M3 7h8M7 3v8'))
  const whole = h('button', { class: 'btn', type: 'button', onclick: on.whole }, 'Whole ', h('kbd', {}, '0'))
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') on.go(field.value, event.shiftKey)
    else if (event.key === 'Escape') field.blur()
  })
  const group = (/** @type {string} */ name, /** @type {HTMLElement} */ part) => h('div', { class: 'group' }, h('span', {}, name), part)
  put(el, head, size, group('Each cell', kinds.el), group('Each pixel', pixel.el), group('Colour', scale.el), h('div', { class: 'end' }, said, field, out, closer, whole))
  return {
    focus() {
      field.focus()
      field.select()
    },
    /** @param {string} text what "go to" found, or why it found nothing @param {boolean} bad */
    say(text, bad) {
      put(said, text)
      said.classList.toggle('bad', bad)
    },
    /** @param {{state: MapState, name: string, size: [number, number]|null, least: boolean, most: boolean, rows: boolean}} data rows: whether colour by row has a meaning */
    update({ state, name, size: cells, least, most, rows }) {
      put(head, name, ' ▾')
      put(size, cells ? `${count(cells[0])} × ${count(cells[1])} cells` : '')
      kinds.update(state.values ? 'values' : 'weights')
      pixel.update(state.pixel)
      scale.update(state.scale)
      const row = /** @type {HTMLButtonElement} */ (scale.el.children[SCALES.indexOf('row')])
      row.disabled = !rows
      row.title = rows ? '' : 'Only the largest number of a pixel can be set beside the largest of its row'
      out.disabled = whole.disabled = least
      closer.disabled = most
    },
  }
}
