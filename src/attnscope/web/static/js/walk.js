// The page Walk: one chapter of the lesson at a time, its place kept in the address, its module loaded when it is first shown.

import { asProblem } from './api.js'
import { mountBar } from './bar.js'
import { attr, h, put, say } from './dom.js'
import { createHistory } from './history.js'
import { stretch } from './kit/brackets.js'
import { mountGlossary } from './kit/glossary.js'
import { CHAPTERS } from './lesson/chapters.js'
import * as source from './lesson/source.js'
import { look, onSystemTheme } from './look.js'
import { LESSON_KEYS, lessonShortcut } from './pure/lessonkeys.js'
import { format, parse, patched } from './pure/lessonurl.js'
import { card } from './views/card.js'
import * as dialogs from './views/dialogs.js'

/** @typedef {import("./pure/lessonurl.js").Place} Place @typedef {import("./lesson/types.js").View} View @typedef {import("./lesson/types.js").On} On */

const GLOSSARY = 10 // the chapter that holds it
const SLOW = 300 // ms; what is there by then needs no word about the wait

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

class Walk {
  /** @type {Map<number, View>} the chapters that are mounted; one stays as it is while another is read */ views = new Map()
  /** @type {Map<number, Record<string, string>>} where each chapter was left */ left = new Map()
  /** @type {Map<number, HTMLElement>} */ notes = new Map()

  constructor() {
    /** @type {HTMLElement[]} */
    const sections = [...document.querySelectorAll('section.chapter')].map((el) => /** @type {HTMLElement} */ (el))
    this.sections = new Map(sections.map((el) => [Number(el.dataset.chapter), el]))
    this.numbers = [...this.sections.keys()]
    this.history = createHistory({ parse, format }, (place) => this.went(place))
    this.place = this.known(this.history.read())
    this.look = look(this.place.theme)
    this.bar = mountBar({ link: () => this.link(), theme: () => this.theme(), keys: () => this.keys() })
    for (const number of this.numbers) this.addOnward(number)
    this.listen()
    this.show()
    this.explain()
  }

  get chapter() {
    return this.place.chapter ?? this.numbers[0]
  }

  /** A chapter that is not here is the first. @param {Place} place @returns {Place} */
  known(place) {
    return place.chapter !== null && this.sections.has(place.chapter) ? place : { ...place, chapter: this.numbers[0] ?? null, own: {} }
  }

  /** Back or forward. @param {Place} place */
  went(place) {
    const other = this.known(place).chapter !== this.place.chapter
    const theme = place.theme !== this.place.theme
    this.place = this.known(place)
    if (theme) this.look = look(place.theme)
    if (other) this.show()
    else this.update()
  }

  /** Opens a chapter where it was left. @param {number} chapter */
  go(chapter) {
    if (!this.sections.has(chapter) || chapter === this.chapter) return
    this.place = { ...this.place, chapter, own: this.left.get(chapter) ?? {} }
    this.history.write(this.place, `chapter ${chapter}`)
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
    if (this.views.has(shown)) this.update()
    else this.load(shown)
  }

  /** @param {number} number */
  async load(number) {
    const section = this.sections.get(number)
    if (!section) return
    attr(part('lesson'), 'aria-busy', true)
    const slow = setTimeout(() => this.note(number, card({ title: 'Working out this chapter', text: 'Its numbers are computed on this machine when it is first opened.' })), SLOW)
    try {
      const [module, data] = await Promise.all([CHAPTERS[number](), source.chapter(number)])
      clearTimeout(slow)
      this.note(number, null)
      if (!this.views.has(number)) this.views.set(number, module.mount(section, data, this.on(number)))
      this.glossary?.decorate(section)
      if (number === this.chapter) this.update()
    } catch (error) {
      clearTimeout(slow)
      console.error(error)
      const { title, message, hint } = asProblem(error)
      this.note(number, card({ title, text: message, hint, bad: true, button: { label: 'Try again', act: () => this.load(number) } }))
    }
    attr(part('lesson'), 'aria-busy', false)
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
      change: (patch, kind) => this.change(number, patch, kind),
      say: (sentence) => say(part('live'), sentence),
      look: () => this.look,
      live: source.live,
    }
  }

  /** @param {number} number @param {Record<string, string|null>} patch @param {string} kind */
  change(number, patch, kind) {
    if (number !== this.chapter) return
    this.place = { ...this.place, chapter: number, own: patched(this.place.own, patch) }
    this.history.write(this.place, kind)
    this.update()
  }

  update() {
    this.left.set(this.chapter, this.place.own)
    this.views.get(this.chapter)?.update(this.place.own)
  }

  link() {
    this.history.flush()
    return location.href
  }

  theme() {
    /** @type {"light"|"dark"} */
    const theme = this.look.dark ? 'light' : 'dark'
    this.place = { ...this.place, theme }
    this.history.write(this.place, 'theme')
    this.relook()
  }

  relook() {
    this.look = look(this.place.theme)
    this.update()
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
    this.update()
  }

  listen() {
    onSystemTheme(() => this.relook())
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
    addEventListener('keydown', (event) => {
      if (event.defaultPrevented || dialogs.open() || taken(event)) return
      if (this.views.get(this.chapter)?.key?.(event) || this.act(lessonShortcut(event))) event.preventDefault()
    })
  }

  /** @param {import("./pure/lessonkeys.js").LessonAction|null} action @returns {boolean} whether it did anything */
  act(action) {
    if (action === 'copy') this.bar.copy()
    else if (action === 'theme') this.bar.theme()
    else if (action === 'keys') this.bar.keys()
    else if (action === 'next') this.go(this.numbers[this.numbers.indexOf(this.chapter) + 1])
    else if (action === 'previous') this.go(this.numbers[this.numbers.indexOf(this.chapter) - 1])
    return action !== null
  }
}

/** Whether the control that has the focus needs this key itself. @param {KeyboardEvent} event */
function taken(event) {
  const target = event.target instanceof Element ? event.target : null
  if (!target) return false
  if (target.matches('textarea, select, input:not([type=checkbox])')) return true
  const pressed = event.key === ' ' || event.key === 'Enter'
  return pressed && target.closest('button, a, summary, input') !== null
}

new Walk()
