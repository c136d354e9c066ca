// The classes of the heads that are seen, each with its mark and how many heads it has; one of them can be brought out. And the way to the page Heads.

import { attr, h, put } from '../../dom.js'
import { glyph } from './glyph.js'

/** @typedef {{rule: import("../../pure/heads/classes.js").Rule, count: number}} Line */

/** @param {(name: string) => void} on a class, or "" for all alike */
export function mountLegend(on) {
  const el = h('div', { class: 'class-legend' })
  let out = ''
  return {
    el,
    /** @param {Line[]} lines @param {string|null} link to the page Heads; null where there is none */
    update(lines, link) {
      out = ''
      put(el, ...lines.map(({ rule, count }) => h('button', { class: 'btn tiny', type: 'button', title: rule.says, 'aria-pressed': 'false', 'data-class': rule.name, onclick: () => press(rule.name) }, glyph(rule.glyph), rule.name === 'none' ? 'no class' : rule.name, ' ', h('span', { class: 'faint' }, count))),
        link && h('a', { class: 'small dim', href: link }, 'What each head does'))
    },
    /** @param {string} link */
    aim(link) {
      const a = el.querySelector('a')
      if (a) a.href = link
    },
  }

  /** @param {string} name */
  function press(name) {
    out = out === name ? '' : name
    for (const button of el.querySelectorAll('button')) attr(button, 'aria-pressed', button.dataset.class === out)
    on(out)
  }
}
