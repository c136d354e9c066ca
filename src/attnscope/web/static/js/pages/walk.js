// The page Walk: one chapter of the lesson at a time, its place kept in the address, its module loaded when it is first shown.

import { asProblem } from '../api.js'
import { Base } from './base.js'
import { attr, h, part, put, say } from '../dom.js'
import { stretch } from '../kit/brackets.js'
import { mountGlossary } from '../kit/glossary.js'
import { CHAPTERS } from '../lesson/chapters.js'
import * as source from '../lesson/source.js'
import { look } from '../look.js'
import { LESSON_KEYS, chapterShortcut } from '../pure/lessonkeys.js'
import { format, parse, patched } from '../pure/lessonurl.js'
import { card } from '../views/card.js'

/** @typedef {import("../pure/lessonurl.js").Place} Place @typedef {import("../lesson/types.js").View} View @typedef {import("../lesson/types.js").On} On */

const GLOSSARY = 10 // the chapter that holds it
const SLOW = 300 // ms; what is there by then needs no word about the wait

/** @extends {Base<Place>} */
class Walk extends Base {
  /** @type {Map<number, View>} the chapters that are mounted; one stays as it is while another is read */ views = new Map()
  /** @type {Map<number, Record<string, string>>} where each chapter was left */ left = new Map()
  /** @type {Map<number, HTMLElement>} */ notes = new Map()
  loading = 0

  constructor() {
    super({ parse, format }, LESSON_KEYS)
    /** @type {HTMLElement[]} */
    const sections = [...document.querySelectorAll('section.chapter')].map((el) => /** @type {HTMLElement} */ (el))
    this.sections = new Map(sections.map((el) => [Number(el.dataset.chapter), el]))
    this.numbers = [...this.sections.keys()]
    this.state = this.known(this.state)
    for (const number of this.numbers) this.addOnward(number)
    this.listen()
    this.show()
    this.explain()
  }

  get chapter() {
    return this.state.chapter ?? this.numbers[0]
  }

  /** A chapter that is not here is the first. @param {Place} place @returns {Place} */
  known(place) {
    return place.chapter !== null && this.sections.has(place.chapter) ? place : { ...place, chapter: this.numbers[0] ?? null, own: {} }
  }

  /** Back or forward. @param {Place} place */
  went(place) {
    const other = this.known(place).chapter !== this.state.chapter
    this.state = this.known(place)
    this.look = look(place.theme)
    if (other) this.show()
    else this.draw()
  }

  /** Opens a chapter where it was left. @param {number} chapter */
  go(chapter) {
    if (!this.sections.has(chapter) || chapter === this.chapter) return
    this.state = { ...this.state, chapter, own: this.left.get(chapter) ?? {} }
    this.history.write(this.state, `chapter ${chapter}`)
    this.show()
    scrollTo(0, 0)
    this.sections.get(chapter)?.querySelector('h1')?.focus({ preventScroll: true })
  }

  /** Shows the chapter of the address, and loads what it needs. */
  show() {
    const shown = this.chapter
    for (const [number, section] of this.sections) {
      if (number !== shown && !section.hidden) this.views.get(number)?.leave?.()
      section.hidden = number !== shown
    }
    for (const link of part('rail').querySelectorAll('a')) attr(link, 'aria-current', link.dataset.chapter === String(shown) ? 'page' : null)
    const picker = /** @type {HTMLSelectElement} */ (part('picker'))
    picker.value = String(shown)
    const title = this.sections.get(shown)?.querySelector('h1')?.textContent ?? 'Walk'
    document.title = `${title} · Walk · attnscope`
    for (const math of this.sections.get(shown)?.querySelectorAll('math') ?? []) stretch(math)
    if (this.views.has(shown)) this.draw()
    else this.load(shown)
  }

  /** @param {number} number */
  async load(number) {
    const section = this.sections.get(number)
    if (!section) return
    this.loading += 1
    this.settle()
    const slow = setTimeout(() => this.note(number, card({ title: 'Working out this chapter', text: 'Its numbers are computed on this machine when it is first opened.' })), SLOW)
    try {
      const [module, data] = await Promise.all([CHAPTERS[number](), source.chapter(number)])
      clearTimeout(slow)
      this.note(number, null)
      if (!this.views.has(number)) this.views.set(number, module.mount(section, data, this.on(number)))
      this.glossary?.decorate(section)
      if (number === this.chapter) this.draw()
    } catch (error) {
      clearTimeout(slow)
      console.error(error)
      const { title, message, hint } = asProblem(error)
      this.note(number, card({ title, text: message, hint, bad: true, button: { label: 'Try again', act: () => this.load(number) } }))
    }
    this.loading -= 1
    this.settle()
  }

  busy() {
    return this.loading > 0
  }

  /** The glossary's sentences at its words in every chapter; where they cannot be had, the words are plain text. */
  async explain() {
    const { experiments } = await source.chapter(GLOSSARY).catch(() => ({ experiments: { glossary: null } }))
    if (!experiments.glossary) return
    this.glossary = mountGlossary(document.body, experiments.glossary.entries)
    for (const section of this.sections.values()) this.glossary.decorate(section)
  }

  /** A word at the head of the chapter about its numbers. @param {number} number @param {HTMLElement|null} content */
  note(number, content) {
    const section = this.sections.get(number)
    const note = this.notes.get(number) ?? h('div', { class: 'chapter-note' })
    if (!this.notes.has(number)) (section?.querySelector('.lead') ?? section?.firstElementChild)?.after(note)
    this.notes.set(number, note)
    put(note, content)
  }

  /** @param {number} number @returns {On} */
  on(number) {
    return {
      change: (patch, kind) => this.own(number, patch, kind),
      say: (sentence) => say(part('live'), sentence),
      look: () => this.look,
      live: source.live,
    }
  }

  /** @param {number} number @param {Record<string, string|null>} patch @param {string} kind */
  own(number, patch, kind) {
    if (number === this.chapter) this.change({ chapter: number, own: patched(this.state.own, patch) }, kind)
  }

  /** At once: a chapter goes on with what it has drawn. */
  draw() {
    this.drawn()
  }

  drawNow() {
    this.left.set(this.chapter, this.state.own)
    this.views.get(this.chapter)?.update(this.state.own)
  }

  keys() {
    return [...(this.views.get(this.chapter)?.keys ?? []), ...LESSON_KEYS]
  }

  /** The way to the next chapter, at the end of each. @param {number} number */
  addOnward(number) {
    const next = this.numbers[this.numbers.indexOf(number) + 1]
    const title = this.sections.get(next)?.querySelector('h1')?.textContent
    if (title) this.sections.get(number)?.append(h('nav', { class: 'onward', 'aria-label': 'Onward' }, h('span', { class: 'dim' }, 'Next'), h('a', { href: `?chapter=${next}`, 'data-chapter': next }, `${next} · ${title}`)))
  }

  /** Paper is light, whatever the screen is. */
  paper() {
    this.look = look('light')
    this.draw()
  }

  listen() {
    addEventListener('beforeprint', () => {
      this.paper()
      say(part('printed'), this.link())
    })
    addEventListener('afterprint', () => this.relook())
    part('picker').addEventListener('change', (event) => this.go(Number(/** @type {HTMLSelectElement} */ (event.target).value)))
    addEventListener('click', (event) => {
      const link = event.target instanceof Element ? event.target.closest('a[data-chapter]') : null
      if (!(link instanceof HTMLElement) || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
      event.preventDefault()
      this.go(Number(link.dataset.chapter))
    })
  }

  /** @param {KeyboardEvent} event @param {import("./frame.js").Where} where */
  press(event, { target, typing }) {
    const pressed = (event.key === ' ' || event.key === 'Enter') && target?.closest('button, a, summary, input')
    if (event.defaultPrevented || typing || pressed) return false // the control that has the focus needs it itself
    const way = chapterShortcut(event)
    if (this.views.get(this.chapter)?.key?.(event)) return true
    if (way) this.go(this.numbers[this.numbers.indexOf(this.chapter) + way])
    return way !== 0
  }
}

new Walk()
