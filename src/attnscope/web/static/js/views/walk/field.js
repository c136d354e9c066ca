// A field of one number or one word: good input is taken while it is typed, wrong input is refused beside the field and what was good stays in use.

import { attr, h, put } from '../../dom.js'

/** @typedef {{problem: string}} Problem */

const WIDEST = 230 // px of a reason
let fields = 0

/**
 * @template T
 * @param {{label: string, look?: string, read: (text: string) => {value: T}|Problem, take: (value: T) => void, done?: () => void, enter?: () => void, props?: import("../../dom.js").Props}} of
 *   read: what a text means, or why it means nothing; take: a good value is here, at every keystroke; done: the reader is through with it; enter: Enter was pressed on a good value
 */
export function mountField({ label, look = 'in', read, take, done, enter, props = {} }) {
  const id = `refused-${++fields}`
  const refusal = h('span', { class: 'refusal', id, role: 'alert' })
  const input = h('input', { class: look, 'aria-label': label, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', ...props })
  const el = h('span', { class: 'fielded' }, input, refusal)
  let text = '' // the value in use, as it is written while the field is left alone
  let whole = '' // and while it is being typed into
  let first = '' // what was in use when the typing began
  let bad = false

  /** @param {string} reason "" where there is none */
  function refuse(reason) {
    bad = reason !== ''
    put(refusal, reason || null)
    input.classList.toggle('bad', bad)
    attr(input, 'aria-invalid', bad || null)
    attr(input, 'aria-describedby', bad ? id : null)
    refusal.classList.toggle('left', bad && input.getBoundingClientRect().left + WIDEST > document.documentElement.clientWidth)
  }
  function restore() {
    refuse('')
    input.value = document.activeElement === input ? whole : text
  }

  input.addEventListener('input', () => {
    const found = read(input.value)
    if ('problem' in found) return
    refuse('')
    take(found.value)
  })
  input.addEventListener('change', () => {
    const found = read(input.value)
    if ('problem' in found) refuse(found.problem)
    else done?.()
  })
  input.addEventListener('focus', () => {
    if (bad) return
    first = whole
    input.value = whole
    input.select()
  })
  input.addEventListener('blur', () => !bad && (input.value = text))
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') {
      input.dispatchEvent(new Event('change'))
      if (bad) return
      first = enter ? whole : input.value
      if (enter) return enter()
      input.value = whole
      input.select()
    }
    if (event.key !== 'Escape' || (!bad && input.value === first)) return
    event.preventDefault()
    event.stopPropagation()
    const before = read(first)
    if (!meansTheSame(first) && 'value' in before) {
      take(before.value)
      done?.()
    }
    restore()
    input.select()
  })

  return {
    el,
    input,
    /** Whether something is typed that is not in use. */
    unfinished: () => bad || (document.activeElement === input && input.value !== whole),
    restore,
    /** @param {{text: string, whole?: string, label?: string}} now the value in use */
    update(now) {
      const changed = now.text !== text || (now.whole ?? now.text) !== whole
      const typing = document.activeElement === input
      text = now.text
      whole = now.whole ?? now.text
      if (now.label) attr(input, 'aria-label', now.label)
      if (changed && !typing) restore()
      else if (changed && typing && !meansTheSame(input.value)) restore()
      else if (!bad && !typing && input.value !== text) input.value = text
    },
  }

  /** Whether what is typed is the value in use, in other words. @param {string} typed */
  function meansTheSame(typed) {
    const [one, other] = [read(typed), read(whole)]
    return 'value' in one && 'value' in other && one.value === other.value
  }
}
