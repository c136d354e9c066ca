// The dialog that hands a head out as a file, and says what each form is for.

import { h, put } from '../dom.js'
import { asProblem } from '../api.js'
import { dialog } from './dialogs.js'

const FORMS = [
  { form: 'html', text: 'HTML', says: 'the whole run as a page that opens offline' },
  { form: 'png', text: 'PNG', says: 'this head as a picture' },
  { form: 'svg', text: 'SVG', says: 'this head as a drawing' },
  { form: 'csv', text: 'CSV', says: 'a line for each weight, with its tokens' },
  { form: 'parquet', text: 'Parquet', says: 'the same for pandas' },
  { form: 'npz', text: 'NPZ', says: 'arrays for NumPy' },
]

/** @typedef {{form: string, text: string, says: string}} Form */
/** What can be saved. get: asks for the file. @typedef {{title: string, get: (form: string) => Promise<{content: Blob, name: string}>, forms?: Form[], about?: string}} Saved */

/** @param {Saved} saved */
export function showSave({ title, get, forms = FORMS, about = 'Each file says of which model, versions and certificate it is.' }) {
  const said = h('p', { class: 'small', role: 'status' })
  /** @param {string} form */
  async function save(form) {
    put(said, 'Making the file')
    try {
      const { content, name } = await get(form)
      const address = URL.createObjectURL(content)
      h('a', { href: address, download: name }).click()
      setTimeout(() => URL.revokeObjectURL(address), 60_000)
      put(said, `Saved as ${name}`)
    } catch (error) {
      const { title: what, message, hint } = asProblem(error)
      put(said, [`${what}.`, message, hint].filter(Boolean).join(' '))
    }
  }
  const lines = forms.flatMap(({ form, text, says }) => [h('dt', {}, h('button', { class: 'btn', type: 'button', onclick: () => save(form) }, text)), h('dd', {}, says)])
  dialog(`Save ${title}`, h('dl', { class: 'save-list' }, ...lines), h('p', { class: 'small dim' }, about), said)
}
