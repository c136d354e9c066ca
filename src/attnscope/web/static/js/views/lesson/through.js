// 64 inputs through the heads: strips cut into heads, and for the chosen head what each of its numbers is made of.

import { h, put, s } from '../../dom.js'
import { count } from '../../pure/number.js'
import { HIGH, bands, layStrips } from '../../pure/strips.js'
import { mountSeg } from '../seg.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */
/** @typedef {import("../../pure/strips.js").Stage} Stage @typedef {import("../../pure/strips.js").Laid} Laid */
/** @typedef {{t: number, d_model: number, n_heads: number, d_head: number, stages: Stage[], joined_again: boolean, sum_of_parts: number}} Through */

const LEAST = 200 // px; less is a layout on its way

/** @param {HTMLElement} el @param {Through} data @param {On} on */
export function mountThrough(el, data, on) {
  const names = Array.from({ length: data.n_heads }, (_, head) => ({ value: String(head), text: String(head) }))
  const choose = (/** @type {string} */ head) => {
    on.change({ part: head === '0' ? null : head }, 'part')
    on.say(`Head ${head}: numbers ${Number(head) * data.d_head} to ${(Number(head) + 1) * data.d_head - 1} of each query, key and value.`)
  }
  const seg = mountSeg('Head', names, choose)
  const place = h('div', { class: 'through-box' })
  const list = h('ol', { class: 'through-says' }, ...data.stages.map((stage) => h('li', {}, h('b', {}, stage.text), ` ${stage.says}`)))
  put(el, h('div', { class: 'controls' }, h('span', { class: 'grp' }, 'Head', seg.el)), h('div', { class: 'through' }, place, list))
  place.addEventListener('click', (event) => {
    const head = event.target instanceof Element ? event.target.getAttribute('data-head') : null
    if (head) choose(head)
  })
  let head = 0

  function draw() {
    if (place.clientWidth < LEAST) return
    const laid = layStrips(data.stages, data.d_model, place.clientWidth)
    list.classList.toggle('rows', !laid.narrow)
    put(place, picture(data, laid, head))
  }
  const size = new ResizeObserver(draw)
  size.observe(place)

  return {
    /** @param {Parameters} state */
    update(state) {
      head = names.some(({ value }) => value === state.part) ? Number(state.part) : 0
      seg.update(String(head))
      draw()
    },
    destroy: () => size.disconnect(),
  }
}

/** @param {Through} data @param {Laid} laid @param {number} head */
function picture(data, laid, head) {
  const rows = laid.strips.map(({ stage, top, parts }) => {
    const y = laid.narrow ? top - 7 : top + 11
    const shape = { x: laid.narrow ? laid.width : 0, y: laid.narrow ? y : y + 16, class: 'shape', 'text-anchor': laid.narrow ? 'end' : 'start' }
    return s('g', { class: 'strip' },
      s('text', { x: 0, y, class: 'name' }, stage.text), s('text', shape, stage.shape.map(count).join(' × ')),
      ...parts.map((part) => {
        const chosen = part.head === head
        return s('g', {},
          s('rect', { x: part.x, y: top, width: part.width, height: HIGH, class: chosen ? 'chosen' : '', 'data-head': part.head }, part.head === null ? null : s('title', {}, `head ${part.head}`)),
          part.width < 15 ? null : s('text', { x: part.x + part.width / 2, y: top + HIGH / 2 + 4, class: chosen ? 'amount chosen' : 'amount' }, count(stage.width)))
      }))
  })
  // without marks of the single numbers a strip would look like one thing
  const whole = laid.strips.filter(({ stage }) => stage.id === 'qkv')
  const cuts = whole.flatMap(({ parts, top }) => parts.map((part) => s('rect', { class: 'slice', x: part.x + (head * part.width) / data.n_heads, y: top, width: part.width / data.n_heads, height: HIGH })))
  const text = data.stages.map((stage) => `${stage.text} ${stage.shape.join(' by ')}`).join(', ')
  return s('svg', { width: laid.width, height: laid.height, viewBox: `0 0 ${laid.width} ${laid.height}`, role: 'img', 'aria-label': `The way through ${data.n_heads} heads: ${text}` },
    ...bands(laid, head, data.n_heads).map((d) => s('path', { class: 'band', d })), ...rows, ...cuts)
}
