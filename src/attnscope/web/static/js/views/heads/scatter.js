// Every head as a point between two scores; dotted lines are the uniform head.

import { attr, h, put, s } from '../../dom.js'
import { isMeasured, nameOf, reach, shown } from '../../pure/heads/table.js'
import { nextPoint } from '../../pure/heads/points.js'
import { roundTicks } from '../../pure/ticks.js'
import { fixed } from '../../pure/number.js'
import { meaning } from './meaning.js'

/** @typedef {import("../../pure/heads/table.js").Survey} Survey @typedef {import("../../pure/heads/table.js").State} State @typedef {import("../../pure/heads/table.js").Head} Head */

const SIDE = 320
const LEFT = 44
const FOOT = 30

/** @param {HTMLElement} el @param {Survey} survey @param {{axis: (side: "x"|"y", score: string) => void, choose: (name: string) => void}} on */
export function mount(el, survey, on) {
  const pick = (/** @type {"x"|"y"} */ side, /** @type {string} */ word) => {
    const select = h('select', { class: 'field', onchange: () => on.axis(side, select.value) }, ...survey.scores.map(({ name, title }) => h('option', { value: name, disabled: !isMeasured(survey, name) }, title)))
    return { select, label: h('label', { class: 'small dim' }, word, ' ', select) }
  }
  const selects = { y: pick('y', 'up'), x: pick('x', 'right') }
  const plot = s('svg', { viewBox: `0 0 ${SIDE + LEFT + 14} ${SIDE + FOOT + 10}`, role: 'listbox' })
  const about = h('div', { class: 'about' })
  put(el, h('div', { class: 'axes' }, selects.y.label, selects.x.label), plot, about)
  plot.addEventListener('click', (event) => {
    const name = event.target instanceof Element ? event.target.getAttribute('data-head') : null
    if (name) on.choose(name)
  })
  plot.addEventListener('keydown', (event) => press(/** @type {KeyboardEvent} */ (event), plot, on.choose))
  return {
    /** @param {State} state @param {Head[]} heads those that are shown */
    update(state, heads) {
      for (const side of /** @type {const} */ (['x', 'y'])) selects[side].select.value = state[side]
      draw(plot, survey, state, heads)
      const told = (/** @type {string} */ name) => survey.scores.filter((score) => score.name === name)
      put(about, h('p', { class: 'small faint' }, 'Dotted: the uniform head.'), ...told(state.y).map((score) => meaning(score, '↑ ')), ...told(state.x).map((score) => meaning(score, '→ ')))
    },
    plot,
  }
}

/** @param {KeyboardEvent} event @param {Element} plot @param {(name: string) => void} choose */
function press(event, plot, choose) {
  const dots = [...plot.querySelectorAll('circle')]
  const at = dots.findIndex((dot) => dot === event.target)
  if (at < 0) return
  const name = dots[at].getAttribute('data-head')
  const enter = event.key === 'Enter' || event.key === ' '
  const to = nextPoint(event, dots.map((dot) => ({ x: dot.cx.baseVal.value, y: -dot.cy.baseVal.value })), at)
  if (to === null && !enter) return
  event.preventDefault()
  if (enter && name) return choose(name)
  if (to === null) return
  stop(dots, dots[to])
  dots[to].focus({ preventScroll: true })
}

/** One stop of the Tab key for all of them. @param {Element[]} dots @param {Element|undefined} one */
function stop(dots, one) {
  for (const dot of dots) attr(dot, 'tabindex', dot === one ? 0 : -1)
}

/** @param {Element} plot @param {Survey} survey @param {State} state @param {Head[]} heads */
function draw(plot, survey, state, heads) {
  const of = (/** @type {string} */ name) => survey.scores.find((score) => score.name === name) ?? survey.scores[0]
  const [across, up] = [of(state.x), of(state.y)]
  const most = { x: reach(survey.heads, across), y: reach(survey.heads, up) }
  const x = (/** @type {number} */ value) => LEFT + (value / most.x) * SIDE
  const y = (/** @type {number} */ value) => 6 + SIDE - (value / most.y) * SIDE
  const ticks = [
    ...roundTicks(0, most.x, 5).flatMap((at) => [s('line', { x1: x(at), x2: x(at), y1: y(0), y2: y(0) + 4 }), s('text', { x: x(at), y: y(0) + 16, class: 'mid' }, fixed(at, most.x > 2 ? 0 : 2))]),
    ...roundTicks(0, most.y, 5).flatMap((at) => [s('line', { x1: LEFT - 4, x2: LEFT, y1: y(at), y2: y(at) }), s('text', { x: LEFT - 7, y: y(at) + 4, class: 'end' }, fixed(at, most.y > 2 ? 0 : 2))]),
  ]
  const first = survey.heads[0]
  const level = { x: first?.scores[state.x]?.uniform ?? null, y: first?.scores[state.y]?.uniform ?? null }
  const lines = [
    level.x !== null && s('line', { class: 'uniform', x1: x(level.x), x2: x(level.x), y1: y(0), y2: y(most.y) }),
    level.y !== null && s('line', { class: 'uniform', x1: LEFT, x2: LEFT + SIDE, y1: y(level.y), y2: y(level.y) }),
  ]
  const dots = heads.flatMap((head) => {
    const [one, other] = [head.scores[state.x].value, head.scores[state.y].value]
    if (one === null || other === null) return []
    const about = `Layer ${head.layer}, head ${head.head}: ${across.title} ${shown(one, across.unit)}, ${up.title} ${shown(other, up.unit)}`
    const chosen = nameOf(head) === state.chosen
    return [s('circle', { cx: x(one), cy: y(other), r: chosen ? 5 : 3.5, class: chosen ? 'chosen' : '', role: 'option', 'aria-selected': String(chosen), 'aria-label': about, 'data-head': nameOf(head) }, s('title', {}, about))]
  })
  const one = heads.find((head) => nameOf(head) === state.chosen)?.scores
  const own = one ? { across: one[state.x], up: one[state.y] } : null
  const there = own && own.across.value !== null && own.up.value !== null
  const spans = there ? [
    own.across.low !== null && own.across.high !== null && s('line', { class: 'span', x1: x(own.across.low), x2: x(own.across.high), y1: y(own.up.value ?? 0), y2: y(own.up.value ?? 0) }),
    own.up.low !== null && own.up.high !== null && s('line', { class: 'span', x1: x(own.across.value ?? 0), x2: x(own.across.value ?? 0), y1: y(own.up.low), y2: y(own.up.high) }),
  ] : []
  dots.sort((one, other) => Number(one.classList.contains('chosen')) - Number(other.classList.contains('chosen')))
  attr(plot, 'aria-label', `${dots.length} heads: ${up.title} over ${across.title}`)
  const held = plot.contains(document.activeElement) ? document.activeElement?.getAttribute('data-head') : null
  const stopped = dots.find((dot) => dot.getAttribute('data-head') === (held ?? state.chosen)) ?? dots[0]
  stop(dots, stopped)
  put(plot, s('path', { class: 'frame', d: `M${LEFT} 6v${SIDE}h${SIDE}` }), ...ticks, ...lines, ...spans, ...dots)
  if (held && stopped instanceof SVGElement) stopped.focus({ preventScroll: true })
}
