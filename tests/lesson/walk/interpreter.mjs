// Reads {recipe, sheets: [{sheet, query, after}]} and writes what the page makes of each: every number, step and sentence.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const at = (name) => pathToFileURL(`${process.argv[2]}/${name}`)
const { evaluate } = await import(at('values.js'))
const { stepsOf } = await import(at('steps.js'))
const { changeSentence } = await import(at('change.js'))
const { readSheet, writeSheet } = await import(at('file.js'))
const { queryToSheet, sheetToQuery } = await import(at('address.js'))

const { recipe, fresh, cases } = JSON.parse(readFileSync(0, 'utf8'))
const plain = (x) => (Number.isFinite(x) ? x : x > 0 ? 'inf' : x < 0 ? '-inf' : 'nan')

function numbers(values, grid) {
  const shape = values.shape(grid)
  const inner = (place) => (place.length === shape.length ? plain(values.at(grid, ...place)) : Array.from({ length: shape[place.length] }, (_, next) => inner([...place, next])))
  return inner([])
}

const made = cases.map(({ sheet, query, before }) => {
  const values = evaluate(recipe, sheet)
  return {
    grids: Object.fromEntries(Object.keys(recipe.axes).map((grid) => [grid, numbers(values, grid)])),
    labels: values.labels,
    steps: stepsOf(recipe, sheet, values, query),
    change: changeSentence(recipe, before, sheet, query),
    file: readSheet(writeSheet(sheet)).sheet ?? readSheet(writeSheet(sheet)),
    address: queryToSheet(Object.fromEntries(new URLSearchParams(new URLSearchParams(sheetToQuery(sheet, fresh)).toString())), fresh, recipe),
  }
})
process.stdout.write(JSON.stringify(made))
