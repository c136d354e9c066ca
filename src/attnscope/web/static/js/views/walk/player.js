// The foot of the walk: back, play, step, a scrubber and the speed. It starts paused and never plays by itself.

import { attr, enable, h, icon, put } from '../../dom.js'

/** @typedef {import("./model.js").Model} Model */
/** @typedef {{back: () => void, step: () => void, go: (step: number) => void, play: () => void}} OnPlayer */

/** Steps a second; the middle one is the slowest that does not feel slow. @type {{text: string, ms: number}[]} */
const SPEEDS = [
  { text: 'slow', ms: 4000 },
  { text: 'calm', ms: 2000 },
  { text: 'quick', ms: 900 },
]

const LEAST = 0.1 // share of the scrubber that a stage has at least: its name must fit

/** @param {OnPlayer} on */
export const mountPlayer = (on) => new Player(on)

class Player {
  /** @type {Model|null} */ #model = null
  #built = ''

  /** @param {OnPlayer} on */
  constructor(on) {
    this.on = on
    this.back = h('button', { class: 'btn back', type: 'button', onclick: on.back }, icon('M9 3 5 7l4 4'), 'Back')
    this.play = h('button', { class: 'btn play-button', type: 'button', onclick: on.play })
    this.step = h('button', { class: 'btn main step', type: 'button', onclick: on.step }, 'Step', icon('m5 3 4 4-4 4'))
    this.segs = h('div', { class: 'segs', role: 'slider', tabindex: '0', 'aria-label': 'Step', 'aria-valuemin': 1 })
    this.names = h('div', { class: 'names', 'aria-hidden': 'true' })
    this.speed = h('select', { class: 'field', 'aria-label': 'Speed of Play', title: 'Speed of Play' }, ...SPEEDS.map(({ text }, at) => h('option', { value: at, selected: at === 1 }, text)))
    this.count = h('span', { class: 'count' })
    this.el = h('div', { class: 'player', role: 'group', 'aria-label': 'Player' },
      h('div', { class: 'btns' }, this.back, this.play, this.step),
      h('div', { class: 'track' }, this.segs, this.names),
      h('div', { class: 'end' }, h('span', { class: 'picker' }, this.speed), h('div', { class: 'small dim told' }, this.count, h('span', { class: 'hint' }, h('kbd', {}, '←'), ' ', h('kbd', {}, '→'), ' step ', h('kbd', {}, 'Space'), ' play'))))
    this.#listen()
  }

  /** ms between the steps of Play. */
  pace() {
    return matchMedia('(prefers-reduced-motion: reduce)').matches ? 1000 : SPEEDS[Number(this.speed.value)].ms
  }

  /** @param {Model} model @param {boolean} playing */
  update(model, playing) {
    this.#model = model
    const sizes = model.ends.map((end, at) => end - (model.ends[at - 1] ?? 0))
    if (this.#built !== sizes.join()) this.#build(sizes, model.recipe.stages.map(({ title }) => title))
    this.#built = sizes.join()
    this.segs.querySelectorAll('i').forEach((mark, at) => (mark.className = at + 1 < model.at ? 'done' : at + 1 === model.at ? 'at' : ''))
    this.names.querySelectorAll('span').forEach((name, at) => name.classList.toggle('on', at === model.stage))
    attr(this.segs, 'aria-valuemax', model.steps.length)
    attr(this.segs, 'aria-valuenow', model.at)
    attr(this.segs, 'aria-valuetext', `Step ${model.at} of ${model.steps.length}: ${model.recipe.stages[model.stage].title}, ${model.step.index} of ${model.step.of}`)
    put(this.count, `Step ${model.at} of ${model.steps.length} · `, h('b', {}, playing ? 'playing' : 'paused'))
    put(this.play, ...(playing ? [icon('M4.500 3v8M9.500 3v8'), 'Pause'] : [triangle(), 'Play']))
    enable([this.back, model.at > 1, this.play], [this.step, model.at < model.steps.length, this.play])
  }

  /** @param {number[]} sizes @param {string[]} titles */
  #build(sizes, titles) {
    const least = sizes.reduce((sum, size) => sum + size, 0) * LEAST
    put(this.segs, ...sizes.map((size) => h('div', { style: { flex: `${Math.max(size, least)} 1 0` } }, ...Array.from({ length: size }, () => h('i', {})))))
    put(this.names, ...sizes.map((size, at) => h('span', { style: { flex: `${Math.max(size, least)} 1 0` } }, titles[at])))
  }

  #listen() {
    const at = (/** @type {PointerEvent} */ event) => {
      const marks = [...this.segs.querySelectorAll('i')]
      const under = marks.findIndex((mark) => event.clientX < mark.getBoundingClientRect().right + 2)
      this.on.go(under < 0 ? marks.length : under + 1)
    }
    this.segs.addEventListener('pointerdown', (event) => {
      if (event.button) return
      this.segs.setPointerCapture(event.pointerId)
      at(event)
    })
    this.segs.addEventListener('pointermove', (event) => this.segs.hasPointerCapture(event.pointerId) && at(event))
    this.segs.addEventListener('keydown', (event) => {
      const by = { ArrowUp: 1, ArrowDown: -1, PageUp: 5, PageDown: -5 }[event.key]
      if (!by || !this.#model) return
      event.preventDefault()
      this.on.go(this.#model.at + by)
    })
  }
}

const triangle = () => {
  const el = icon('M4.500 2.800v8.400L11 7z')
  el.querySelector('path')?.setAttribute('fill', 'currentColor')
  return el
}
