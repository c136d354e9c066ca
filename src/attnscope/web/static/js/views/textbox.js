// The text and the model it goes through: what fits, what is running, and the button that starts it.

import { attr, css, h, put, say } from '../dom.js'
import { count, plural } from '../pure/number.js'
import { firstAxis } from '../pure/places.js'
import { progressText, share } from './card.js'

/** @typedef {import("../types.js").Model} Model @typedef {import("../types.js").Result} Result @typedef {import("../types.js").Progress} Progress */
/** @typedef {{models: Model[], model: string, text: string, busy: boolean, progress: Progress|null, result: Result|null}} Data progress is null too where a card shows it */
/** @typedef {{run: (model: string, text: string) => void, cancel: () => void}} On */

/** @param {HTMLElement} el @param {On} on */
export function mount(el, on) {
  const picker = h('select', { class: 'btn pick', 'aria-label': 'Model' })
  const area = h('textarea', { id: 'text', spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', 'aria-label': 'Text', 'aria-describedby': 'text-fits', dir: 'auto' })
  const fits = h('span', { class: 'small faint fits', id: 'text-fits' })
  const run = h('button', { class: 'btn main', type: 'button' }, 'Run')
  const stop = h('button', { class: 'btn', type: 'button', hidden: true }, 'Cancel')
  const hint = h('span', { class: 'hint' }, h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'Enter'))
  const bar = h('i', {})
  const prog = h('div', { class: 'prog', hidden: true }, bar)
  put(el,
    h('div', { class: 'sec' }, h('h2', {}, 'Text'), h('div', { class: 'end' }, h('span', { class: 'picker' }, picker))),
    area, prog,
    h('div', { class: 'run' }, fits, h('div', { class: 'end' }, hint, stop, run)))
  /** @type {Data|null} */
  let data = null
  let shownText = ''
  let offered = '' // the models the picker lists, to fill it once

  const recorded = () => data?.models.find(({ id }) => id === picker.value)?.recorded === true
  const start = () => on.run(picker.value, recorded() ? '' : area.value)
  run.addEventListener('click', start)
  stop.addEventListener('click', () => on.cancel())
  picker.addEventListener('change', start)
  area.addEventListener('input', () => data && describe(data))

  /** @param {Data} now */
  function describe(now) {
    const model = now.models.find(({ id }) => id === picker.value)
    const { text, over } = now.busy && now.progress ? { text: progressText(now.progress), over: false } : fitWords(area.value, model, now.result)
    say(fits, text)
    fits.classList.toggle('over', over)
    attr(area, 'aria-invalid', over ? 'true' : null)
  }

  return {
    /** @param {Data} next */
    update(next) {
      data = next
      const ids = next.models.map(({ id }) => id).join('\n')
      if (ids !== offered) put(picker, ...next.models.map(({ id, label }) => h('option', { value: id }, label)))
      offered = ids
      if (picker.value !== next.model) picker.value = next.model
      const fixed = recorded()
      const words = fixed ? (next.result?.model.id === next.model ? next.result.text : '') : next.text
      if (shownText !== words) area.value = shownText = words
      area.readOnly = fixed
      area.placeholder = fixed ? 'No text was kept with this recording.' : ''
      run.hidden = fixed
      prog.hidden = !next.busy || !next.progress
      css(bar, { width: `${share(next.progress ?? { done: 0, total: 0 })}%` })
      stop.hidden = prog.hidden
      hint.hidden = !prog.hidden || fixed
      describe(next)
    },
    run: start,
    focus() {
      area.focus()
      area.select()
    },
    destroy() {},
  }
}

/**
 * "28 of 256 characters · 6 layers × 6 heads". Tokens are known only once a text was run.
 * @param {string} text @param {Model|undefined} model @param {Result|null} result @returns {{text: string, over: boolean}}
 */
function fitWords(text, model, result) {
  if (!model) return { text: '', over: false }
  const size = `${plural(model.layers, 'layer')} × ${plural(model.heads, 'head')}`
  if (model.recorded) return { text: `A recording, without its model · ${size}`, over: false }
  if (model.unit === 'character') {
    const length = [...text].length
    return { text: `${count(length)} of ${count(model.context)} characters · ${size}`, over: length > model.context }
  }
  const same = result && result.text === text && result.model.id === model.id
  const amount = same ? `${count(firstAxis(result)?.tokens.length ?? 0)} of ${count(model.context)} tokens` : plural([...text].length, 'character')
  return { text: `${amount} · ${size}`, over: false }
}
