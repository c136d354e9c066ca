// The certificate of a run in one line: how many heads re-add to the model's own output, and how closely.

import { h, icon, put } from '../dom.js'
import { count, fixed, limit } from '../pure/number.js'

/** @param {HTMLElement} el */
export function mount(el) {
  return {
    /** @param {import("../types.js").Result|null} result */
    update(result) {
      if (!result) return put(el)
      const { heads, passed, largest_z: z, allowed_z: most } = result.certificate
      const refused = result.sites.flatMap((site) => site.certificate).filter(({ verdict }) => verdict === 'refused').length
      const whole = passed === heads && result.bit_equal !== false
      const said = [`${count(passed)} of ${count(heads)} heads`]
      if (refused) said.push(`${count(refused)} refused`)
      if (z !== null && most !== null) said.push(`residual ${fixed(z, 1)} of ${limit(most)} allowed`)
      if (result.bit_equal !== null) said.push(result.bit_equal ? 'logits bit-equal' : 'logits differ')
      el.classList.toggle('bad', refused > 0 || result.bit_equal === false)
      put(el, icon('M7 1.5 11.8 3v4c0 3-2.2 4.700-4.800 5.500C4.400 11.700 2.200 10 2.200 7V3z', whole ? 'm4.800 7 1.600 1.600 2.900-3.100' : 'M7 4.500v3M7 9.400v.1'),
        h('span', {}, h('b', {}, whole ? 'Exact' : refused ? 'Refused in part' : 'Not certified in full'), h('span', { class: 'rest' }, ` · ${said.join(' · ')}`)))
      el.title = 'Each row of each head, times its values, was compared with what the model itself computed. A residual of 1 is what rounding alone leaves.'
    },
    destroy() {},
  }
}
