// A search among the tokens: Enter goes to the next that holds the text, Shift Enter to the one before.

import { h, say } from '../dom.js'
import { search } from '../pure/map/find.js'
import { count } from '../pure/number.js'

/** @typedef {import("../types.js").Token} Token */

/** @param {{tokens: () => Token[], at: () => number, go: (token: number) => void}} on at: the token that is chosen */
export function mountFind(on) {
  const field = h('input', { class: 'field find', type: 'search', placeholder: 'Find', 'aria-label': 'Find a text among the tokens', title: 'Find a text among the tokens (f)', autocomplete: 'off', spellcheck: 'false' })
  const said = h('span', { class: 'small faint', role: 'status' })
  field.addEventListener('input', () => say(said, ''))
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') field.blur()
    if (event.key !== 'Enter' || event.ctrlKey || event.metaKey || !field.value) return
    event.preventDefault()
    const hits = [...new Set(search(on.tokens(), field.value).map(({ first }) => first))]
    if (!hits.length) return say(said, 'not here')
    const at = on.at()
    const step = event.shiftKey ? hits.filter((token) => token < at).length - 1 : hits.findIndex((token) => token > at)
    const next = step >= 0 ? step : event.shiftKey ? hits.length - 1 : 0
    say(said, `${count(next + 1)} of ${count(hits.length)}`)
    on.go(hits[next])
  })
  return {
    el: h('span', { class: 'finder' }, said, field),
    focus() {
      field.focus()
      field.select()
    },
  }
}
