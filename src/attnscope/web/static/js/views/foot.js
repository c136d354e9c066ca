// Under the heatmap: the legend in the map's own colours, hiding of the first column, and what the hatch means.

import { attr, h, put, say } from '../dom.js'
import { count, weight } from '../pure/number.js'
import { meaning, ticks } from '../pure/scale.js'

/** @typedef {import("../types.js").ColourMap} ColourMap @typedef {import("../types.js").ScaleName} ScaleName */
/** @typedef {{scale: ScaleName, map: ColourMap, hide: boolean, held: number|null, site: import("../types.js").Site, window: boolean, written: number|null, what: string, most: number|null, about: string}} Data what, most: the numbers shown, and the largest colour where it is not 1; about: of the picture; held: share of the head's weight in its first column; written: the first row that the model wrote */

/** @param {HTMLElement} el @param {{hide: (hide: boolean) => void}} on */
export function mount(el, on) {
  const ramp = h('canvas', { width: 256, height: 1, 'aria-hidden': 'true' })
  const marks = h('div', {})
  const means = h('p', { class: 'means' })
  const box = h('input', { type: 'checkbox', id: 'hide-first', onchange: () => on.hide(box.checked) })
  const key = h('span', { class: 'small faint void' })
  const mark = h('span', { class: 'small faint void', hidden: true })
  const pad = h('span', { class: 'small faint void', hidden: true })
  const note = h('p', { class: 'small faint note', 'aria-live': 'polite' })
  put(el, h('div', { class: 'legend' }, ramp, marks, means),
    h('div', { class: 'said' }, h('div', { class: 'line' }, h('label', { class: 'check small' }, box, 'Hide first column'), key, pad, mark), note))
  /** @type {ColourMap|null} */
  let drawn = null
  return {
    /** @param {Data} data */
    update({ scale, map, hide, held, site, window: part, written, what, most, about }) {
      if (drawn !== map) paintRamp(ramp, map)
      drawn = map
      put(marks, ...ticks(scale, most).map((tick) => h('span', {}, tick)))
      if (box.checked !== hide) box.checked = hide
      attr(box, 'aria-describedby', hide ? 'hidden-note' : null)
      put(key, h('i', { class: 'hatch' }), site.causal ? 'future: exactly 0' : 'not visible: exactly 0')
      key.hidden = site.sight.form === 'everything' && !site.sight.padding.length
      put(pad, h('i', { class: 'pad' }), 'padding: in no sum')
      pad.hidden = !site.sight.padding.length
      put(mark, ...(written === null ? [] : [h('i', { class: 'rule' }), `written from ${count(written)} on`]))
      mark.hidden = written === null
      const share = held === null ? '' : `It holds ${weight(held)} of this head’s weight. `
      say(means, meaning(scale, what) + (part && (scale === 'rank' || most !== null) ? ', of this window' : ''))
      say(note, [about, hide ? `${share}The others are shown as they are, not rescaled.` : ''].filter(Boolean).join(' '))
      note.id = 'hidden-note'
    },
    destroy() {},
  }
}

/** @param {HTMLCanvasElement} canvas @param {ColourMap} map */
function paintRamp(canvas, map) {
  const pixels = Uint32Array.from({ length: 256 }, (_, x) => map.pixels[Math.round((x / 255) * (map.pixels.length - 1))])
  canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), 256, 1), 0, 0)
}
