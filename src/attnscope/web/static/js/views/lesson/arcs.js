// What one word looks at in two sentences: an arc to each other word, as wide as its weight, and the number under the word.

import { attr, h, put, s } from '../../dom.js'
import { arc, layout, thickness } from '../../pure/arcs.js'
import { weight, weight7 } from '../../pure/number.js'
import { mountSeg } from '../seg.js'

/** @typedef {import("../../lesson/types.js").On} On @typedef {import("../../lesson/types.js").Parameters} Parameters */
/** @typedef {{sentences: string[][], endings: string[], masks: string[], asking: number, targets: number[], weights: number[][][], reads: number[][]}} Arcs */

const LEAST = 120 // px; less is a layout on its way

/** @param {HTMLElement} el @param {Arcs} data @param {On} on */
export function mountArcs(el, data, on) {
  const word = data.sentences[0][data.asking]
  const seg = mountSeg('Mask', data.masks.map((mask) => ({ value: mask, text: mask === 'causal' ? 'causal' : 'none' })), (mask) => {
    on.change({ mask: mask === data.masks[0] ? null : mask }, 'mask')
    on.say(told(data, data.masks.indexOf(mask)))
  })
  const figures = data.sentences.map((words) => {
    const box = h('div', { class: 'arcs-box' })
    return { words, box, el: h('figure', { class: 'arcs' }, h('figcaption', {}, `… too ${words[words.length - 1]}`, h('span', { class: 'faint' }, 'invented weights')), box) }
  })
  const said = h('p', { class: 'said' })
  put(el, h('div', { class: 'controls' }, h('span', { class: 'grp' }, 'Mask', seg.el)), h('div', { class: 'arcs-two' }, ...figures.map((one) => one.el)), said)
  let mask = 0

  function draw() {
    const { map } = on.look()
    figures.forEach(({ words, box }, at) => {
      if (box.clientWidth > LEAST) put(box, picture({ words, row: data.weights[at][mask], data, map, label: `“${word}” with “${data.endings[at]}”` }, box.clientWidth))
    })
  }
  const size = new ResizeObserver(draw)
  for (const { box } of figures) size.observe(box)

  return {
    /** @param {Parameters} state */
    update(state) {
      mask = Math.max(0, data.masks.indexOf(state.mask ?? ''))
      seg.update(data.masks[mask])
      put(said, told(data, mask))
      draw()
    },
    destroy: () => size.disconnect(),
  }
}

/** What the pictures show, in words. @param {Arcs} data @param {number} mask */
function told({ sentences, endings, asking, targets, weights, reads }, mask) {
  const word = sentences[0][asking]
  const rows = weights.map((each) => each[mask])
  const list = (/** @type {number[]} */ row) => targets.map((j) => `${sentences[0][j]} ${weight(row[j])}`).join(', ')
  const same = rows.every((row) => row.every((w, j) => w === rows[0][j]))
  if (same) return `The ending stands after “${word}”, whose weight on it is ${weight(reads[0][mask])}: both sentences give the same weights, ${list(rows[0])}.`
  return endings.map((ending, at) => {
    const most = targets.reduce((best, j) => (rows[at][j] > rows[at][best] ? j : best), targets[0])
    return `With “${ending}”, “${word}” looks mostly at “${sentences[at][most]}”: ${list(rows[at])}.`
  }).join(' ')
}

/** @param {{words: string[], row: number[], data: Arcs, map: import("../../types.js").ColourMap, label: string}} part @param {number} width */
function picture({ words, row, data, map, label }, width) {
  const laid = layout(words, width)
  const { asking, targets } = data
  const hidden = (/** @type {number} */ j) => row[j] === 0
  const list = words.map((word, j) => `${word} ${weight(row[j])}`).join(', ')
  const arcs = words.map((_, j) => (j === asking || hidden(j) ? null
    : s('path', { class: 'arc', d: arc(laid, asking, j), 'stroke-width': thickness(row[j]), stroke: map.css(0.55) }, s('title', {}, `${words[asking]} on ${words[j]}, ${weight7(row[j])}`))))
  const parts = words.map((word, j) => {
    const { x, y, width: wide } = laid.places[j]
    const boxed = { x: x - wide / 2, y: y - 11, width: wide, height: 22, rx: 3 }
    const light = !hidden(j) && map.ink(row[j]) === 'light'
    const cell = s('rect', { ...boxed, class: j === asking ? 'word chosen' : 'word', fill: hidden(j) ? 'url(#arcs-hatch)' : map.css(row[j]) })
    const text = s('text', { x, y: y + 5, class: `name${light ? ' on-dark' : hidden(j) ? ' unseen' : ' on-light'}`, 'text-anchor': 'middle' }, word)
    const at = laid.upright ? { x: laid.width, y: y + 4, 'text-anchor': 'end' } : { x, y: y + 28, 'text-anchor': 'middle' }
    return s('g', {}, s('title', {}, `${word}, ${hidden(j) ? 'not visible' : weight7(row[j])}`), cell, text, s('text', { ...at, class: targets.includes(j) ? 'number large' : 'number' }, weight(row[j])))
  })
  const hatch = s('pattern', { id: 'arcs-hatch', width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' }, s('rect', { class: 'void', width: 5, height: 5 }), s('rect', { class: 'line', width: 1, height: 5 }))
  const svg = s('svg', { width: laid.width, height: laid.height, viewBox: `0 0 ${laid.width} ${laid.height}`, role: 'img', 'aria-label': `${label}, invented weights: ${list}` }, s('defs', {}, hatch), ...arcs, ...parts)
  attr(svg, 'data-upright', laid.upright)
  return svg
}
