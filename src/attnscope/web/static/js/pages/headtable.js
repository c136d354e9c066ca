// All heads of a model as one page in a file: classes, a scatter of two scores, the table, and the chosen head. Its state is its address.

import { part, put } from '../dom.js'
import { Frame } from './frame.js'
import { format, parse } from '../pure/heads/address.js'
import { TABLE_KEYS, shortcut } from '../pure/heads/keys.js'
import { count } from '../pure/number.js'
import { createSurveyed } from './surveyed.js'

/** @typedef {import("../pure/heads/address.js").HeadsState} HeadsState */

const here = () => parse(location.hash.slice(1))

/** @extends {Frame<HeadsState>} */
class HeadTable extends Frame {
  /** @param {import("../pure/heads/table.js").Survey} survey */
  constructor(survey) {
    super(here())
    this.surveyed = createSurveyed(survey, this)
    put(part('notes'), survey.notes.join('; '))
    addEventListener('hashchange', () => {
      this.state = here()
      this.relook()
    })
    this.draw()
  }

  keys() {
    return TABLE_KEYS
  }

  /** @param {Partial<HeadsState>} patch @param {string} kind */
  change(patch, kind) {
    super.change(patch, kind)
    history.replaceState(null, '', format(this.state).replace(/^\?/, '#') || '#')
  }

  drawNow() {
    const { heads, texts } = this.surveyed.survey
    put(part('counts'), `${count(this.surveyed.update().length)} of ${count(heads.length)} heads · ${texts.length} texts`)
  }

  /** @param {KeyboardEvent} event @param {import("./frame.js").Where} where */
  press(event, { typing }) {
    if (shortcut(event, typing) !== 'none' || !this.surveyed.head()) return false
    this.surveyed.choose('')
    return true
  }
}

new HeadTable(JSON.parse(part('data').textContent ?? ''))
