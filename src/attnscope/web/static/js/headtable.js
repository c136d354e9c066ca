// All heads of a model as one page: classes, a scatter of two scores, the table, and the chosen head. Its state is its address.

import { put, say } from './dom.js'
import { filtered, format, nameOf, parse, sorted } from './pure/heads/table.js'
import { count } from './pure/number.js'
import { mount as mountClasses } from './views/heads/classes.js'
import { mount as mountDetail } from './views/heads/detail.js'
import { mount as mountRows } from './views/heads/rows.js'
import { mount as mountScatter } from './views/heads/scatter.js'

/** @typedef {import("./pure/heads/table.js").State} State */

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

/** @type {import("./pure/heads/table.js").Survey} */
const survey = JSON.parse(part('data').textContent ?? '')
let state = parse(location.hash, survey)

/** @param {Partial<State>} some */
function change(some) {
  state = { ...state, ...some }
  history.replaceState(null, '', format(state) || '#')
  draw()
}

/** @param {string} name */
function choose(name) {
  change({ chosen: state.chosen === name ? '' : name })
  const head = survey.heads.find((one) => nameOf(one) === state.chosen)
  say(part('live'), head ? `Layer ${head.layer}, head ${head.head}: ${head.classes.join(', ') || 'no class'}` : 'No head chosen')
}

const classes = mountClasses(part('classes'), survey, { only: (name) => change({ only: state.only === name ? '' : name }) })
const scatter = mountScatter(part('scatter'), survey, { axis: (side, score) => change({ [side]: score }), choose })
const detail = mountDetail(part('detail'), survey)
const rows = mountRows(part('rows'), survey, { sort: (column) => change({ sort: column, up: state.sort === column ? !state.up : column === 'layer' }), choose })

function draw() {
  const heads = filtered(survey.heads, state.only)
  classes.update(state)
  scatter.update(state, heads)
  detail.update(state)
  rows.update(state, sorted(heads, state.sort, state.up))
  put(part('counts'), `${count(heads.length)} of ${count(survey.heads.length)} heads · ${survey.texts.length} texts`)
}

function turn() {
  const dark = getComputedStyle(document.documentElement).colorScheme === 'dark' || (!document.documentElement.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'light' : 'dark'
}

part('theme').addEventListener('click', turn)
addEventListener('keydown', (event) => {
  const typing = event.target instanceof HTMLSelectElement
  if (event.key === 'd' && !event.ctrlKey && !event.metaKey && !event.altKey && !typing) turn()
  if (event.key === 'Escape' && state.chosen) change({ chosen: '' })
})
addEventListener('hashchange', () => {
  state = parse(location.hash, survey)
  draw()
})
put(part('notes'), survey.notes.join('; '))
draw()
part('page').setAttribute('aria-busy', 'false')
