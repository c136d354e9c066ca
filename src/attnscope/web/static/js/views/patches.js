// The picture that positions are patches of: each patch shaded by its weight, the chosen one outlined.

import { attr, css, h, put, s } from '../dom.js'
import { count } from '../pure/number.js'

/** @typedef {import("../types.js").Axis} Axis @typedef {import("../types.js").ColourMap} ColourMap */
/** @typedef {{axis: Axis, src: string, chosen: number|null, values: Float32Array|null, place: (weight: number, token: number) => number, map: ColourMap}} Data */

/** @param {(token: number) => void} choose */
export function mountPatches(choose) {
  const image = h('img', { alt: '' })
  const over = s('svg', { preserveAspectRatio: 'none', 'aria-hidden': 'true' })
  const el = h('figure', { class: 'patches', hidden: true }, image, over)
  /** @type {Axis|null} */
  let built = null
  /** @type {SVGElement[]} */
  let rects = []

  /** @param {Axis} axis */
  function build({ grid, before }) {
    const [rows, columns] = grid ?? [1, 1]
    attr(over, 'viewBox', `0 0 ${columns} ${rows}`)
    rects = Array.from({ length: rows * columns }, (_, k) => {
      const rect = s('rect', { x: k % columns, y: Math.floor(k / columns), width: 1, height: 1 }, s('title', {}, `position ${count(k + before)}`))
      rect.addEventListener('click', () => choose(k + before))
      return rect
    })
    put(over, ...rects)
  }

  return {
    el,
    /** @param {Data|null} data */
    update(data) {
      el.hidden = !data
      if (!data) return
      if (data.axis !== built) build(data.axis)
      built = data.axis
      attr(image, 'src', data.src)
      attr(image, 'alt', `The picture, in ${data.axis.grid?.join(' by ')} patches`)
      rects.forEach((rect, k) => {
        const at = k + data.axis.before
        const value = data.values?.[at] ?? -1
        const t = value >= 0 ? data.place(value, at) : 0
        css(rect, { fill: data.map.css(t), 'fill-opacity': String(0.85 * t) }) // what gets nothing stays as it is
        rect.classList.toggle('chosen', at === data.chosen)
      })
    },
  }
}
