import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CALM } from '../../src/attnscope/web/static/js/api.js'
import { createJob } from '../../src/attnscope/web/static/js/job.js'

const STOPPED = { title: 'Cancelled', message: 'Nothing was kept.' }
const ticks = async (n = 8) => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve))
}
const state = (name, more = {}) => ({ id: 'one', state: name, step: '', done: 0, total: 1, seconds_left: null, error: null, result: null, ...more })

/** A way whose server answers as told, and what was asked of it. */
function server(states, more = {}) {
  const asked = []
  const found = []
  const way = {
    key: 'a', stopped: STOPPED, asked, found,
    ask: async () => (asked.push('ask'), { id: 'one' }),
    look: async (id) => (asked.push(`look ${id}`), states.shift() ?? state('running')),
    stop: async (id) => void asked.push(`stop ${id}`),
    take: async (id, last) => `${id} ${last.state}`,
    ended: (one) => found.push(one),
    ...more,
  }
  return way
}

test('a job is asked for, looked at until it is done, and told of before the page draws', async () => {
  const drawn = []
  const way = server([state('waiting'), state('running', { done: 1, total: 2 }), state('done')])
  const job = createJob(() => drawn.push([job.now.busy, job.now.progress?.state ?? null, way.found.length]))
  await job.start(way)
  assert.deepEqual(drawn, [[true, null, 0], [true, 'waiting', 0], [true, 'running', 0], [false, null, 1]])
  assert.deepEqual(way.found, ['one done'])
  assert.equal(job.now.problem, null)
})

test('a job that failed is told as its problem, one that somebody else cancelled calmly', async () => {
  for (const [last, title, status] of [[state('failed', { error: { title: 'Too long', message: '' } }), 'Too long', 400], [state('cancelled'), 'Cancelled', CALM]]) {
    const way = server([last])
    const job = createJob(() => {})
    await job.start(way)
    assert.deepEqual([job.now.busy, job.now.problem?.title, job.now.problem?.status], [false, title, status])
    assert.deepEqual(way.found, [null])
  }
})

test('what is cancelled is stopped on the server and said, quietly where something older can stay', async () => {
  for (const quietly of [false, true]) {
    const way = server([])
    const job = createJob(() => {})
    job.start(way)
    await ticks()
    job.cancel(quietly)
    assert.deepEqual([job.now.busy, job.now.key, job.now.problem?.status ?? null], [false, 'a', quietly ? null : CALM])
    assert.equal(way.asked.at(-1), 'stop one')
    assert.deepEqual(way.found, [])
  }
})

test('one that is cancelled before the server named it is stopped once it has', async () => {
  for (const goesOn of [false, true]) {
    let named = (/** @type {{id: string}} */ _) => {}
    const way = server([], { goesOn, ask: () => new Promise((resolve) => (named = resolve)) })
    const job = createJob(() => {})
    job.start(way)
    await ticks()
    job.cancel()
    named({ id: 'late' })
    await ticks()
    assert.deepEqual(way.asked, ['stop late'])
  }
})

test('another one takes the place of the one under way, which is stopped unless it goes on', async () => {
  for (const goesOn of [false, true]) {
    const [first, second] = [server([], { goesOn }), server([state('done')], { key: 'b' })]
    const job = createJob(() => {})
    job.start(first)
    await ticks()
    await job.start(second)
    assert.equal(first.asked.includes('stop one'), !goesOn)
    assert.deepEqual([first.found, second.found], [[], ['one done']])
    assert.equal(job.now.key, 'b')
  }
})

test('the same asked for again is not stopped, however late its name comes', async () => {
  const names = []
  const ask = () => new Promise((resolve) => names.push(resolve))
  const way = server([], { ask })
  const job = createJob(() => {})
  job.start(way)
  await ticks()
  job.start(server([], { key: 'b', ask }))
  await ticks()
  job.start(way)
  await ticks()
  for (const name of names) name({ id: 'one' })
  await ticks()
  assert.ok(!way.asked.includes('stop one'))
  job.leave()
})

test('the same is asked for again only when the stop has arrived', async () => {
  let arrived = () => {}
  const way = server([], { stop: () => new Promise((resolve) => (arrived = () => resolve(undefined))) })
  const job = createJob(() => {})
  job.start(way)
  await ticks()
  job.cancel()
  job.start(way)
  await ticks()
  assert.equal(way.asked.filter((one) => one === 'ask').length, 1)
  arrived()
  await ticks()
  assert.equal(way.asked.filter((one) => one === 'ask').length, 2)
  job.leave()
})
