// One head on one line: its weights with the characters along both sides, the chosen row as bars under the same columns, and what the model expects next.

import { attr, css, h, put, say } from '../../dom.js'
import { mountBars } from '../../kit/bars.js'
import { mountGrid } from '../../kit/grid.js'
import { label, spoken } from '../../pure/marks.js'
import { count, fixed, weight, weight7 } from '../../pure/number.js'
import { largestAt } from '../../pure/triangle.js'

/** @typedef {import("../../types.js").Token} Token @typedef {import("../../pure/triangle.js").Triangle} Triangle @typedef {import("../../pure/colour.js").ColourMap} ColourMap */
/** @typedef {{token: Token, p: number}[]} Expected */

const CELL = 18 // px, as on Explore

/** @param {{name: string, tokens: Token[], choose: (i: number, j: number) => void}} opts name: of the model */
export function mountHead({ name, tokens, choose }) {
  const words = tokens.map(label)
  const grid = mountGrid({ label: `Weights, ${name}`, rows: words, columns: words, cell: CELL, on: { choose } })
  const visible = tokens.map((_, i) => tokens.map((_, j) => j <= i))
  const even = h('span', { class: 'even' })
  const bars = tokens.map(() => h('i', {}))
  const row = h('div', { class: 'rowbars', role: 'img' }, h('span'), ...bars.map((bar) => h('span', {}, bar)), even)
  css(row, { '--n': String(tokens.length), '--cell': CELL })
  const about = h('div', { class: 'caption rowsaid' })
  const next = mountBars({ label: `Next character, ${name}` })
  const after = h('h4', {})
  return {
    el: h('div', { class: 'onehead' }, grid.el, row, about),
    next: h('div', { class: 'expects' }, after, next.el),
    /** @param {{head: Triangle, i: number, j: number, next: Expected, map: ColourMap}} data */
    update({ head, i, j, next: expected, map }) {
      const values = head.rows[i]
      const share = 1 / (i + 1)
      const most = largestAt(values)
      grid.update({ values: squareOf(head), visible, map, chosen: { i, j } })
      bars.forEach((bar, at) => {
        const w = values[at] ?? 0
        css(bar, { height: `${100 * w}%` })
        bar.hidden = at > i
        bar.classList.toggle('chosen', at === j)
        attr(/** @type {Element} */ (bar.parentElement), 'title', at <= i ? `${words[at]} ${at}: ${weight7(w)}` : null)
      })
      css(even, { bottom: `${100 * share}%`, right: `calc((100% - 26px) * ${(tokens.length - 1 - i) / tokens.length})` })
      const said = `Row ${i} ${spoken(tokens[i])}: largest ${weight(values[most])} on ${spoken(tokens[most])} ${most}, ${fixed(values[most] / share, 1)} times the even share of ${weight(share)}.`
      say(about, said)
      attr(row, 'aria-label', `${name}. ${said}`)
      put(after, 'Next character', h('span', { class: 'faint' }, ` after ${label(tokens[i])} ${count(i)}`))
      next.update({ rows: expected.map(({ token, p }) => ({ text: label(token), spoken: spoken(token), value: p })), max: 1 })
    },
  }
}

/** @param {Triangle} head */
const squareOf = ({ rows, n }) => rows.map((row) => Array.from({ length: n }, (_, j) => row[j] ?? 0))
