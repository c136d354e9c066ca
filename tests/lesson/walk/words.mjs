// Reads {forms, points, words}. Writes, for each form ("क_", "_": the place of a character), the points that make it a
// word, and for each of the words whether it is one.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { isWord } = await import(pathToFileURL(`${process.argv[2]}/word.js`))
const { forms, points, words } = JSON.parse(readFileSync(0, 'utf8'))
const taken = (form) => points.filter((point) => isWord(form.replace('_', () => String.fromCodePoint(point))))
process.stdout.write(JSON.stringify({ forms: forms.map(taken), words: words.map(isWord) }))
