// What is certain about the chosen head, in one line under its name: the certificate with its limits, the route, what its rows see.

import { h, icon, put } from '../dom.js'
import { fixed, limit } from '../pure/number.js'
import { listed } from '../pure/sites.js'
import { sharing } from '../pure/places.js'

/** @typedef {import("../types.js").Site} Site */

export function mountFacts() {
  const el = h('p', { class: 'facts small dim' })
  /** @type {{site: Site, head: number}|null} */
  let shown = null
  return {
    el,
    /** @param {Site|null} site null where there is no head @param {number} head */
    update(site, head) {
      el.hidden = !site
      if (!site || (shown?.site === site && shown.head === head)) return
      shown = { site, head }
      const verdict = site.certificate[head]
      const ok = verdict?.verdict === 'passed'
      el.classList.toggle('bad', verdict?.verdict === 'refused')
      const reason = verdict?.reason && !ok ? verdict.reason : ''
      put(el,
        h('span', { class: 'item verdict', title: reason || 'Each row, times its values, was compared with what the model itself computed.' },
          icon(ok ? 'm2.500 7.500 3 3 6-7' : 'M7 1.5 13 12.500H1zM7 5.500v3M7 10.600v.1'), h('b', {}, `Certificate: ${verdict?.verdict ?? 'not kept'}`), ...figures(site, head)),
        ...words(site, head).map((text) => h('span', { class: 'item' }, text)))
    },
  }
}

/** "Certificate: passed z 1.4 of 20, t .1 of 20; huggingface/sdpa, float32". @param {Site} site @param {number} head */
export function certificateWords(site, head) {
  const [route] = words(site, head)
  return `Certificate: ${site.certificate[head]?.verdict ?? 'not kept'}${figures(site, head).join('')}; ${route}`
}

/** " z 1.4 of 20 · t 0.1 of 20" @param {Site} site @param {number} head */
function figures(site, head) {
  const verdict = site.certificate[head]
  if (!verdict || !site.allowed) return []
  const said = [
    verdict.z === null ? '' : `z ${fixed(verdict.z, 1)} of ${limit(site.allowed.z)}`,
    verdict.t === null ? '' : `t ${fixed(Math.abs(verdict.t), 1)} of ${limit(site.allowed.t)}`,
  ].filter(Boolean)
  return said.length ? [` ${said.join(', ')}`] : []
}

/** @param {Site} site @param {number} head @returns {string[]} */
function words(site, head) {
  const shared = sharing(site, head)
  const others = shared?.heads.filter((one) => one !== head) ?? []
  return [
    `${site.route}, ${site.dtype}${site.bit_exact ? ', bit-exact' : ''}`,
    shared ? `key head ${shared.key}, shared with head${others.length > 1 ? 's' : ''} ${listed(others)}` : '',
    site.sight.form === 'causal' && !site.sight.padding.length ? '' : `mask: ${site.sight.words}`,
    site.sinks ? 'a learned sink' : '',
  ].filter(Boolean)
}
