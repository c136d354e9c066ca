// The page Heads: what each head of a model does, from a survey that was given or is made here. Its state is its address.

import * as api from '../api.js'
import { Base } from './base.js'
import { part, say } from '../dom.js'
import { format, parse, viewOf } from '../pure/heads/address.js'
import { KEYS, shortcut } from '../pure/heads/keys.js'
import { nameOf } from '../pure/heads/table.js'
import { plural } from '../pure/number.js'
import { createSurvey } from '../survey.js'
import { createSurveyed } from './surveyed.js'
import { bestOf, firstLink } from '../views/heads/best.js'
import { showMeanings } from '../views/heads/meaning.js'
import { mountNothing } from '../views/heads/nothing.js'
import { mountPick } from '../views/heads/pick.js'

/** @typedef {import("../pure/heads/address.js").HeadsState} HeadsState @typedef {import("../types.js").SurveyEntry} SurveyEntry */
/** @typedef {import("../pure/heads/table.js").Survey & {opens: import("../pure/heads/texts.js").Opening}} Survey */

const PARTS = ['classes', 'scatter', 'rows', 'detail']
const FORMS = [
  { form: 'html', text: 'HTML', says: 'the table and the picture as a page that opens offline' },
  { form: 'csv', text: 'CSV', says: 'a line for each head' },
  { form: 'parquet', text: 'Parquet', says: 'the same for pandas' },
  { form: 'json', text: 'JSON', says: 'all that is known, every text’s number too; the app opens it' },
  { form: 'png', text: 'PNG', says: 'the two scores as a picture' },
  { form: 'svg', text: 'SVG', says: 'the same as a drawing' },
]

/** @extends {Base<HeadsState>} */
class Heads extends Base {
  /** @type {SurveyEntry[]} */ surveys = []
  /** @type {api.ApiError|null} */ problem = null
  /** @type {Survey|null} */ shown = null
  /** @type {import("./surveyed.js").SurveyedHeads|null} */ surveyed = null

  constructor() {
    super({ parse, format }, KEYS)
    this.survey = createSurvey(() => this.draw(), () => this.measured())
    this.pick = mountPick(part('pick'), { choose: (entry) => this.choose(entry), meanings: () => this.shown && showMeanings(this.shown) })
    this.nothing = mountNothing(part('nothing'), { measure: () => this.survey.start(this.of()), cancel: () => this.survey.cancel(), again: () => location.reload() })
  }

  async open() {
    this.draw()
    try {
      await this.list()
      const { survey, model } = this.state
      if (!survey && !model && this.surveys.length) this.choose(this.surveys[0], '')
    } catch (error) {
      this.problem = api.asProblem(error)
    }
    this.draw()
  }

  async list() {
    this.surveys = (await api.surveys()).surveys
  }

  /** The name of what is shown. */
  of() {
    return this.state.survey ?? this.state.model ?? ''
  }

  /** @param {SurveyEntry} entry @param {string} [kind] */
  choose({ id, kind: what }, kind = 'survey') {
    const run = { text: null, i: null, j: null, layer: null, site: null, head: null, only: '' }
    this.change({ ...run, ...(what === 'file' ? { survey: id, model: null } : { survey: null, model: id }) }, kind)
  }

  async measured() {
    this.store.clear()
    await this.list().catch((error) => (this.problem = api.asProblem(error)))
    say(part('live'), 'Measured')
    this.draw()
  }

  busy() {
    return super.busy() || (!this.surveys.length && !this.problem) || this.survey.now.busy
  }

  drawNow() {
    const of = this.of()
    const entry = this.surveys.find(({ id }) => id === of) ?? null
    if (this.survey.now.key && this.survey.now.key !== of) this.survey.leave()
    if (entry?.job && !this.survey.now.key) return void this.survey.start(of, entry.job)
    const found = /** @type {Survey|undefined} */ (entry?.measured ? this.store.get(`table ${of}`, () => api.survey(of)) : undefined)
    const waiting = entry?.measured && !found && !this.store.problem(`table ${of}`)
    this.pick.update({ surveys: this.surveys, of, words: found ? aboutOf(found) : '', table: Boolean(found) })
    for (const id of PARTS) part(id).hidden = !found
    part('nothing').hidden = Boolean(found || waiting || (!this.surveys.length && !this.problem))
    document.title = `${found ? `${entry?.label} · ` : ''}Heads · attnscope`
    if (found) return this.drawTable(found)
    this.shown = null
    const unknown = this.surveys.length && !entry ? new api.ApiError({ title: 'There is no survey of this name', message: `${of} is not on offer.`, hint: 'Choose another above.' }, 404) : null
    this.nothing.update({ entry, problem: this.problem ?? unknown ?? this.survey.now.problem ?? this.store.problem(`table ${of}`), progress: this.survey.now.progress, busy: this.survey.now.busy })
  }

  /** @param {Survey} survey */
  drawTable(survey) {
    if (this.surveyed?.survey !== survey) this.surveyed = createSurveyed(survey, this, { open: (name) => this.go(name), beside: (head, state) => bestOf(head, survey, state) })
    this.shown = survey
    if (this.state.model === null && survey.opens.model) return this.change({ model: survey.opens.model }, '') // the other pages open it
    this.surveyed?.update()
  }

  /** Opens a head on its best text. @param {string} name */
  go(name) {
    const { shown } = this
    const head = shown?.heads.find((one) => nameOf(one) === name)
    const link = shown && head && firstLink(head, shown, viewOf(this.state, shown))
    if (link) location.assign(new URL(link, document.baseURI))
    return Boolean(link)
  }

  file() {
    const { shown } = this
    return shown && { title: 'the heads', forms: FORMS, about: 'Each file says of which model, versions and seed it is.', get: (/** @type {string} */ form) => api.surveyFile(this.of(), form, viewOf(this.state, shown)) }
  }

  /** @param {KeyboardEvent} event @param {import("./frame.js").Where} where */
  press(event, { typing }) {
    const action = shortcut(event, typing)
    if (!action) return false
    const head = this.shown && this.surveyed?.head()
    if (action === 'pick') this.pick.focus()
    else if (action === 'meanings' && this.shown) showMeanings(this.shown)
    else if (action === 'none' && head) this.surveyed?.choose('')
    else if (action === 'open' && head) return this.go(nameOf(head))
    else return false
    return true
  }
}

/** @param {Survey} survey */
function aboutOf({ heads, texts, model, notes }) {
  const plain = texts.filter(({ kind }) => kind === 'plain').length
  const said = [plural(heads.length, 'head'), plural(texts.length, 'text'), model.attnscope && `attnscope ${model.attnscope}`]
  if (texts.length === 1) said.push('one text gives no interval, and so no class')
  else if (!plain) said.push('no running text')
  return [...said, ...notes].filter(Boolean).join(' · ')
}

new Heads().open()
