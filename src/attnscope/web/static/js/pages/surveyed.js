// The heads of a survey: their classes, two scores against each other, the table and the chosen head, which all follow one state.

import { part, say } from '../dom.js'
import { placeOf, viewOf } from '../pure/heads/address.js'
import { filtered, nameOf, sorted } from '../pure/heads/table.js'
import { mount as mountClasses } from '../views/heads/classes.js'
import { mount as mountDetail } from '../views/heads/detail.js'
import { mount as mountRows } from '../views/heads/rows.js'
import { mount as mountScatter } from '../views/heads/scatter.js'

/** @typedef {import("../pure/heads/address.js").HeadsState} HeadsState */
/** @typedef {import("../pure/heads/table.js").Survey} Survey @typedef {import("../pure/heads/table.js").Head} Head @typedef {import("../pure/heads/table.js").State} State */
/** The page they stand on. @typedef {{state: HeadsState, change: (patch: Partial<HeadsState>, kind: string) => void}} On */
/** What the page alone can do. open: goes to where a head is seen; beside: what stands before its scores. @typedef {{open?: (name: string) => void, beside?: (head: Head, state: State) => HTMLElement|null}} Own */

/** @param {Survey} survey @param {On} page @param {Own} [own] */
export const createSurveyed = (survey, page, own = {}) => new Surveyed(survey, page, own)

/** @typedef {ReturnType<typeof createSurveyed>} SurveyedHeads */

class Surveyed {
  unsaid = false

  /** @param {Survey} survey @param {On} page @param {Own} own */
  constructor(survey, page, { open, beside }) {
    this.survey = survey
    this.page = page
    const choose = (/** @type {string} */ name) => this.choose(name)
    this.classes = mountClasses(part('classes'), survey, { only: (name) => page.change({ only: page.state.only === name ? '' : name }, 'class') })
    this.scatter = mountScatter(part('scatter'), survey, { axis: (side, score) => page.change({ [side]: score }, side), choose })
    this.detail = mountDetail(part('detail'), survey, beside)
    this.rows = mountRows(part('rows'), survey, { sort: (column) => this.sort(column), choose, open })
  }

  /** What the page's state means here. */
  view() {
    return viewOf(this.page.state, this.survey)
  }

  /** The chosen head. */
  head() {
    const { chosen } = this.view()
    return this.survey.heads.find((one) => nameOf(one) === chosen)
  }

  /** @param {string} name of a head, "" for none; the chosen one is let go of */
  choose(name) {
    const head = this.survey.heads.find((one) => nameOf(one) === name)
    this.unsaid = true
    this.page.change({ ...placeOf(this.head() === head ? undefined : head, this.survey), i: null, j: null }, 'head')
  }

  /** @param {string} column */
  sort(column) {
    const { sort, up } = this.view()
    this.page.change({ sort: column, up: sort === column ? !up : column === 'layer' }, 'sort')
  }

  /** @returns {Head[]} those that are shown */
  update() {
    const state = this.view()
    const heads = filtered(this.survey.heads, state.only)
    this.classes.update(state)
    this.scatter.update(state, heads)
    this.detail.update(state)
    this.rows.update(state, sorted(heads, state.sort, state.up))
    if (this.unsaid) {
      const head = this.head()
      say(part('live'), head ? `Layer ${head.layer}, head ${head.head}: ${head.classes.join(', ') || 'no class'}` : 'No head chosen')
    }
    this.unsaid = false
    return heads
  }
}
