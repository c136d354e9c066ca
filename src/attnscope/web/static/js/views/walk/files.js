// An example as a file: saved, and opened again. A file that cannot be read changes nothing and is told so.

import { h, put } from '../../dom.js'
import { count } from '../../pure/number.js'
import { readSheet, writeSheet } from '../../pure/walk/file.js'

/** @typedef {import("../../pure/walk/types.js").Sheet} Sheet */

const LARGEST = 100_000 // bytes; an example of eight words and d = 8 has under 4,000

/** @param {{sheet: () => Sheet, open: (sheet: Sheet, name: string) => void}} on */
export function mountFiles(on) {
  const problem = h('p', { class: 'refused', role: 'alert' })
  const field = h('input', { type: 'file', accept: '.json,application/json', class: 'sr', tabindex: '-1', 'aria-label': 'An example to open' })
  const open = h('button', { class: 'btn quiet', type: 'button', title: 'Open an example from a file', onclick: () => field.click() }, 'Open')
  const save = h('button', { class: 'btn quiet', type: 'button', title: 'Save this example to a file', onclick: () => download(on.sheet()) }, 'Save')
  field.addEventListener('change', async () => {
    const file = field.files?.[0]
    field.value = ''
    if (!file) return
    const found = await read(file)
    const reason = 'problem' in found ? `${file.name}: ${found.problem} Nothing was changed.` : ''
    put(problem, reason || null)
    if ('sheet' in found) on.open(found.sheet, file.name)
  })
  return { save, open, field, problem, clear: () => put(problem) }
}

/** @param {File} file @returns {Promise<{sheet: Sheet}|{problem: string}>} */
async function read(file) {
  if (file.size > LARGEST) return { problem: `The file has ${count(file.size)} bytes; an example has at most ${count(LARGEST)}.` }
  try {
    return readSheet(await file.text())
  } catch (error) {
    return { problem: `The file could not be read (${error instanceof Error ? error.message : String(error)}).` }
  }
}

/** @param {Sheet} sheet */
function download(sheet) {
  const address = URL.createObjectURL(new Blob([writeSheet(sheet)], { type: 'application/json' }))
  const name = sheet.words.join('-').replace(/[^\p{L}\p{N}-]+/gu, '').slice(0, 40) || 'example'
  const link = h('a', { href: address, download: `${name}.walk.json` })
  document.body.append(link)
  link.click()
  link.remove()
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}
