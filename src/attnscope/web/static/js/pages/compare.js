// The page Compare: two runs, their heads by how much they differ, and one head of each beside its difference.

import * as api from '../api.js'
import { Base } from './base.js'
import { createComparing } from '../comparing.js'
import { part, say } from '../dom.js'
import { COMPARE_KEYS } from '../pure/comparekeys.js'
import { ALIGNS, FILES, format, parse } from '../pure/compare.js'
import { createSession } from '../session.js'
import { progressText } from '../views/card.js'
import { mountPick } from '../views/compare/pick.js'
import { mountRanks } from '../views/compare/ranks.js'
import { mountThree } from '../views/compare/three.js'

/** @typedef {import("../pure/compare.js").CompareState} State @typedef {import("../types.js").Ranked} Ranked */

const NO_CELL = { i: null, j: null }
const NO_HEAD = { layer: null, head: null, ...NO_CELL }

/** @extends {Base<State>} */
class Compare extends Base {
  /** @type {import("../types.js").Model[]} */ models = []
  sample = ''
  /** @type {{most: number, cells: Record<string, number>}} */ limits = { most: Infinity, cells: {} }
  /** @type {{id: string, head: import("../types.js").HeadDifference, at: number}|null} what Save hands out */ shown = null
  unsaid = false
  /** @type {import("../api.js").ApiError|null} */ problem = null

  constructor() {
    super({ parse, format }, COMPARE_KEYS)
    const draw = () => this.draw()
    this.comparing = createComparing(draw)
    const session = () => createSession(draw, (model) => this.recorded(model))
    this.sides = { a: session(), b: session() }
    this.pick = mountPick(part('panel-pick'), {
      choose: (side, model) => this.run({ [side]: model, ...NO_HEAD }, side),
      text: (side, text) => this.run({ [side === 'a' ? 'ta' : 'tb']: text }, 'text'),
      align: (align) => this.change({ align, ...NO_CELL }, 'align'),
      swap: () => this.swap(),
    })
    this.ranks = mountRanks(part('panel-ranks'), { by: (by) => this.change({ by }, 'by'), choose: (layer, head) => this.change({ layer, head, ...NO_CELL }, 'head') })
    this.three = mountThree(part('panel-three'), { scale: (scale) => this.change({ scale }, 'scale'), choose: (i, j) => [(this.unsaid = true), this.change({ i, j }, 'cell')] })
  }

  async open() {
    try {
      const [{ models, default: sample }, limits] = await Promise.all([api.models(), api.comparable()])
      const recordings = models.filter(({ id, recorded }) => recorded && !((limits.cells[id] ?? 0) > limits.most)).map(({ id }) => id)
      Object.assign(this, { models, limits, sample: sample.text })
      const a = this.state.a ?? recordings[0] ?? sample.model
      const b = this.state.b ?? recordings[1] ?? models.map(({ id }) => id).find((id) => id !== a) ?? a
      this.state = { ...this.state, a, b }
      this.history.write(this.state, '')
      this.start()
    } catch (error) {
      this.problem = api.asProblem(error)
    }
    this.draw()
  }

  /** @param {string} model */
  recorded(model) {
    return this.models.some(({ id, recorded }) => id === model && recorded === true)
  }

  /** The text of a side: its own, else the sample. @param {"a"|"b"} side */
  text(side) {
    return (side === 'a' ? this.state.ta : this.state.tb) ?? this.sample
  }

  start() {
    for (const side of /** @type {("a"|"b")[]} */ (['a', 'b'])) {
      const model = this.state[side] ?? ''
      const asked = this.sides[side].session.asked
      const text = this.recorded(model) ? '' : this.text(side)
      if (asked?.model !== model || asked?.text !== text) this.sides[side].start(model, text)
    }
  }

  swap() {
    const { a, b, ta, tb } = this.state
    this.run({ a: b, b: a, ta: tb, tb: ta, ...NO_HEAD }, 'swap')
  }

  /** @param {State} state */
  went(state) {
    this.state = { ...state, a: state.a ?? this.state.a, b: state.b ?? this.state.b }
    this.start()
    this.relook()
  }

  /** A change of what is run. @param {Partial<State>} patch @param {string} kind */
  run(patch, kind) {
    this.change(patch, kind)
    this.start()
  }

  busy() {
    const { a, b } = this.sides
    return a.session.busy || b.session.busy || this.comparing.now.busy || super.busy()
  }

  drawNow() {
    const { state, models, sides } = this
    const recorded = (/** @type {string|null} */ id) => this.recorded(id ?? '')
    this.pick.update({ models, limits: this.limits, a: state.a ?? '', b: state.b ?? '', ta: recorded(state.a) ? null : this.text('a'), tb: recorded(state.b) ? null : this.text('b'), align: state.align })
    const problem = this.problem ?? sides.a.session.problem ?? sides.b.session.problem
    const [a, b] = [sides.a.session.run?.id, sides.b.session.run?.id]
    this.shown = null
    const reading = [sides.a, sides.b].find(({ session }) => session.busy)
    if (problem || !a || !b || reading) {
      this.comparing.forget()
      return problem ? this.nothing(problem) : this.under('Reading both', reading?.session.progress ?? null, reading ? () => this.stop() : null)
    }
    const { found, progress, problem: refused } = this.comparing.of(a, b, state.align)
    if (refused) return this.nothing(refused, refused.status === api.CALM ? () => this.comparing.again() : null)
    if (!found) return this.under('Comparing', progress, () => this.comparing.cancel())
    this.drawFound(found.id, found.ranked)
  }

  stop() {
    for (const side of [this.sides.a, this.sides.b]) if (side.session.busy) side.cancel()
  }

  /** @param {string} id @param {Ranked} found */
  drawFound(id, found) {
    const { state } = this
    const order = found.heads.map((head, at) => ({ head, at })).sort((x, y) => (y.head[state.by] ?? -1) - (x.head[state.by] ?? -1))
    const chosen = order.find(({ head }) => head.layer === state.layer && head.head === state.head) ?? order[0] ?? null
    this.ranks.update({ found, order: order.map(({ head }) => head), by: state.by, chosen: chosen?.head ?? null })
    if (!chosen) return this.three.clear('No head could be compared.', '')
    const name = `${id} ${chosen.at}`
    this.shown = { id, head: chosen.head, at: chosen.at }
    const slots = this.store.get(`slots ${name}`, () => api.comparedSlots(id, chosen.at))
    const planes = this.store.get(`planes ${name}`, () => api.comparedPlanes(id, chosen.at))
    const refused = this.store.problem(`planes ${name}`) ?? this.store.problem(`slots ${name}`)
    if (refused) return this.three.clear(refused.title, `${refused.message} ${refused.hint}`)
    if (!slots || !planes) return
    this.three.update({ found, head: chosen.head, slots, planes, state, look: this.look })
    document.title = `Layer ${chosen.head.layer}, head ${chosen.head.head} · Compare · attnscope`
    if (this.unsaid) say(part('live'), this.three.sentence())
    this.unsaid = false
  }

  /** @param {import("../api.js").ApiError} problem @param {(() => void)|null} again */
  nothing(problem, again = null) {
    this.ranks.clear()
    this.three.clear(problem.title, [problem.message, problem.hint].filter(Boolean).join(' '), { bad: !again, button: again && { label: 'Compare', act: again } })
  }

  /** What is under way. @param {string} title @param {import("../types.js").Progress|null} progress @param {(() => void)|null} cancel */
  under(title, progress, cancel) {
    this.ranks.clear()
    const bar = progress ? { done: progress.done, total: progress.total } : undefined
    this.three.clear(title, progress ? progressText(progress) : '', { bar, button: cancel && { label: 'Cancel', act: cancel } })
  }

  file() {
    const { shown, state } = this
    return shown && { title: `layer ${shown.head.layer}, head ${shown.head.head} and its fellow`, forms: FILES, get: (/** @type {string} */ form) => api.comparedFile(shown.id, shown.at, form, state) }
  }

  /** @param {KeyboardEvent} event @param {import("./frame.js").Where} where */
  press({ key, ctrlKey, metaKey, altKey }, { typing }) {
    if (typing || ctrlKey || metaKey || altKey) return false
    const { align, scale, by } = this.state
    if (key === 's') this.swap()
    else if (key === 'a') this.change({ align: ALIGNS[(ALIGNS.indexOf(align) + 1) % ALIGNS.length], ...NO_CELL }, 'align')
    else if (key === 'l') this.change({ scale: scale === 'log' ? 'linear' : 'log' }, 'scale')
    else if (key === 'm') this.change({ by: by === 'mean' ? 'largest' : 'mean' }, 'by')
    else return false
    return true
  }
}

new Compare().open()
