// The dialog in which another head is chosen: all heads in small.

import { h } from '../../dom.js'
import { mount as mountHeads } from '../heads.js'

/**
 * @param {Parameters<ReturnType<typeof mountHeads>["update"]>[0]} data
 * @param {(row: import("../../pure/sites.js").Row, head: number) => void} choose
 */
export function chooseHead(data, choose) {
  const panel = h('section', { class: 'heads' })
  const close = h('button', { class: 'btn', type: 'button', onclick: () => el.close() }, 'Close')
  const el = h('dialog', { class: 'pick-head', 'aria-label': 'Choose a head' }, panel, h('div', { class: 'end' }, close))
  let now = data
  const heads = mountHeads(panel, {
    choose(row, head) {
      now = { ...now, at: row.kind === 'site' ? row.site : row.missing, head }
      heads.update(now)
      choose(row, head)
    },
    group(group) {
      const site = now.result.sites.find((one) => (one.kind === 'cross' ? 'cross' : one.stack) === group)
      if (!site) return
      now = { ...now, at: site, head: Math.min(now.head, site.heads - 1) }
      heads.update(now)
    },
    open: () => el.close(),
    resize: () => heads.update(now),
  })
  el.addEventListener('click', (event) => event.target === el && el.close())
  el.addEventListener('close', () => {
    heads.destroy()
    el.remove()
  })
  document.body.append(el)
  el.showModal()
  heads.update(now)
  heads.focus()
}
