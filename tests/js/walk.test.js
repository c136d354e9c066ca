import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { changeSentence } from '../../src/attnscope/web/static/js/pure/walk/change.js'
import { textOf } from '../../src/attnscope/web/static/js/pure/walk/fill.js'
import { amount, breadth, exact, fitted, three, two, typed, written } from '../../src/attnscope/web/static/js/pure/walk/format.js'
import { guessSentence } from '../../src/attnscope/web/static/js/pure/walk/guess.js'
import { withMask, withNumber, withScale, withWord } from '../../src/attnscope/web/static/js/pure/walk/sheet.js'
import { stepsOf } from '../../src/attnscope/web/static/js/pure/walk/steps.js'
import { evaluate, operandsOf } from '../../src/attnscope/web/static/js/pure/walk/values.js'

const { recipe, sheet: fresh } = JSON.parse(readFileSync(new URL('walk.json', import.meta.url), 'utf8'))
const SAT = 2
const row = (sheet, grid, i) => Array.from({ length: evaluate(recipe, sheet).shape(grid)[1] }, (_, c) => evaluate(recipe, sheet).at(grid, i, c))
const shown = (sheet, grid, i) => row(sheet, grid, i).map((x) => written(recipe, grid, x))
const catsKey = (sheet) => withNumber(withNumber(sheet, { grid: 'k', at: [1, 0] }, 0), { grid: 'k', at: [1, 1] }, 2)
const walk = (sheet, query = SAT) => stepsOf(recipe, sheet, evaluate(recipe, sheet), query)

test('the lesson’s figures of section 2 come out of the rules', () => {
  assert.deepEqual([0, 1, 2, 3].map((i) => row(fresh, 'products', i)), [[1, 0, 0.5, 0.5], [1, 0, 0.5, 0.5], [0, 4, 1, 0], [0.5, 4, 1.25, 0.25]])
  assert.deepEqual(shown(fresh, 'weights', 0), ['.345', '.170', '.242', '.242'])
  assert.deepEqual(shown(fresh, 'weights', SAT), ['.048', '.808', '.097', '.048'])
  assert.deepEqual(shown(fresh, 'weights', 3), ['.065', '.771', '.110', '.054'])
  assert.deepEqual(shown(fresh, 'out', SAT), ['.168', '.928'])
  assert.equal(written(recipe, 'wholes', evaluate(recipe, fresh).at('wholes', SAT)), '1.000')
})

test('masked, sat gives .152 and .950, and with cat’s key at 0, 2 the weights .248 .248 .503 0 and .752 .752', () => {
  const causal = withMask(fresh, true)
  assert.deepEqual(shown(causal, 'out', SAT), ['.152', '.950'])
  const edited = catsKey(causal)
  assert.deepEqual(shown(edited, 'weights', SAT), ['.248', '.248', '.503', '0'])
  assert.deepEqual(shown(edited, 'out', SAT), ['.752', '.752'])
  assert.equal(evaluate(recipe, edited).at('weights', SAT, 3), 0)
})

test('what an edit did is said in words', () => {
  const causal = withMask(fresh, true)
  assert.equal(changeSentence(recipe, causal, catsKey(causal), SAT),
    'cat’s key is now [0, 2] (was [2, 0]). What was typed in no longer follows X and Wk. sat now looks mostly at itself.')
  assert.equal(changeSentence(recipe, fresh, causal, SAT), 'The causal mask is on: no word sees a later one. sat still looks mostly at cat.')
  assert.equal(changeSentence(recipe, fresh, withScale(fresh, false), 1), 'The scale is off: scores are not divided by √2. cat still looks more at the than at any other word.')
  assert.equal(changeSentence(recipe, fresh, withNumber(fresh, { grid: 'wv', at: [1, 0] }, 3), SAT),
    'The second row of Wv is now [3, 1] (was [0, 1]). sat looks as before; its output is now [2.592, .928] (was [.168, .928]).')
  assert.equal(changeSentence(recipe, fresh, withNumber(fresh, { grid: 'q', at: [0, 0] }, 9), SAT),
    'the’s query is now [9, 1] (was [0, 1]). What was typed in no longer follows X and Wq. Nothing changes for sat.')
  assert.equal(changeSentence(recipe, fresh, withWord(fresh, 0, 'dog', recipe), SAT), 'The first word is now dog (was the). Nothing changes for sat.')
  assert.equal(changeSentence(recipe, fresh, { ...fresh }, SAT), 'Nothing changed.')
})

test('a word may hold braces and dollars and is said as it is', () => {
  const odd = withWord(fresh, 1, '{new}$&', recipe)
  assert.match(changeSentence(recipe, fresh, odd, SAT), /^The second word is now \{new\}\$& \(was cat\)\. sat now looks mostly at \{new\}\$&\.$/)
})

test('the walk of sat has 29 steps, each with the numbers that go in and come out', () => {
  const steps = walk(fresh)
  assert.equal(steps.length, 29)
  const fifth = steps[4]
  assert.equal(textOf(fifth.sentence), 'How well does sat’s query fit cat’s key? 2 × 2 + 0 × 0 = 4.')
  assert.deepEqual(fifth.results, [{ grid: 'products', at: [2, 1] }])
  assert.deepEqual(fifth.operands.map((ref) => `${ref.grid}[${ref.at}]`), ['q[2,0]', 'k[1,0]', 'q[2,1]', 'k[1,1]'])
  assert.match(textOf(steps[28].sentence), /residual stream\.$/)
})

test('every number that a sentence writes is the number at its place', () => {
  for (const sheet of [fresh, withMask(fresh, true), catsKey(fresh)]) {
    const values = evaluate(recipe, sheet)
    for (const query of [0, 1, 2, 3]) {
      for (const piece of walk(sheet, query).flatMap((step) => step.sentence)) {
        if (piece.ref) assert.equal(piece.text, written(recipe, piece.ref.grid, values.at(piece.ref.grid, ...piece.ref.at)))
        if (piece.word !== undefined) assert.equal(piece.text, values.labels[piece.word])
      }
    }
  }
})

test('a number is traced to its sources, through the grids that have no cell', () => {
  const trace = (sheet, grid, ...at) => operandsOf(recipe, sheet, { grid, at }).map((ref) => `${ref.grid}[${ref.at}]`)
  assert.deepEqual(trace(fresh, 'k', 1, 0), ['x[1,0]', 'wk[0,0]', 'x[1,1]', 'wk[1,0]', 'x[1,2]', 'wk[2,0]', 'x[1,3]', 'wk[3,0]'])
  assert.deepEqual(trace(catsKey(fresh), 'k', 1, 0), [])
  assert.deepEqual(trace(fresh, 'exps', 2, 1), ['scores[2,1]'])
  assert.deepEqual(trace(withMask(fresh, true), 'scores', 2, 3), [])
  assert.deepEqual(trace(fresh, 'x', 0, 0), [])
  const far = withNumber(fresh, { grid: 'k', at: [1, 0] }, 90)
  assert.deepEqual(trace(far, 'exps', 2, 0), ['scores[2,0]', 'scores[2,1]', 'scores[2,2]', 'scores[2,3]'])
})

test('an unknown grid and a place outside it are refused', () => {
  const values = evaluate(recipe, fresh)
  assert.throws(() => values.at('scoring', 0, 0), /there is no grid scoring/)
  assert.throws(() => values.at('weights', 4, 0), /weights\[4,0\] is outside 4 × 4/)
  assert.throws(() => values.at('weights', 0), /outside/)
})

test('a sheet is evaluated once', () => assert.equal(evaluate(recipe, fresh), evaluate(recipe, fresh)))

test('where room is short a number is rounded, never cut', () => {
  const cases = [[2, '2'], [-0.5, '−.5'], [1 / 3, '.3333'], [-1 / 3, '−.333'], [12.125, '12.13'], [-332086.4682, '−3e5'], [332086.4682, '3.3e5'], [1234.5, '1,235'], [1e6, '1e6'], [-9.96e5, '−1e6'], [0.00001, '1e−5'], [0, '0']]
  for (const [x, text] of cases) assert.equal(fitted(x, 4.5), text)
  assert.equal(fitted(0.5, 5.5, three), '.500')
  assert.ok(breadth(fitted(-123.456, 5.5, three)) <= 5.5)
})

test('a guess is told how close it was', () => {
  const step = walk(fresh)[16]
  const say = (guess) => guessSentence(recipe, step, evaluate(recipe, fresh), guess)
  assert.equal(step.ask, 'What is e to the power 2.8284?')
  assert.equal(say(16.92), 'Right, it is 16.92.')
  assert.equal(say(16.5), 'Close: it is 16.92, so 16.5 is .42 too low.')
  assert.equal(say(17), 'Close: it is 16.92, so 17 is .08 too high.')
  assert.equal(say(2), 'It is 16.92, so 2 is 14.92 too low.')
  assert.equal(say(-30), 'It is 16.92, so −30 is 46.92 too low.')
  assert.equal(guessSentence(recipe, walk(fresh)[0], evaluate(recipe, fresh), 3), '')
})

test('numbers are written as a person rounds them, and exactly where all digits are wanted', () => {
  assert.deepEqual([0.105, 1.005, 2.675, -0.105].map(two), ['.11', '1.01', '2.68', '−.11'])
  assert.deepEqual([0.125, 2, 1e6, -1.25e13, -0].map((x) => typed(x)), ['.125', '2', '1,000,000', '−1.25e13', '0'])
  assert.deepEqual([16.9188, 1, 0.70469, 0.0013368, 0.9996, 0.000123, 1e-7, 0].map(amount), ['16.92', '1', '.705', '.00134', '1', '1.2e−4', '1e−7', '0'])
  assert.deepEqual([0.0625, 1, 0, 3e-5].map(three), ['.063', '1.000', '0', '3e−5'])
  assert.deepEqual([1 / 3, -0.5, 1e-7, 2, -Infinity].map(exact), ['.3333333333333333', '−.5', '1e−7', '2', '−∞'])
})
