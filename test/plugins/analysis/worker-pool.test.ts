import { expect } from 'chai'
import { WorkerPool } from '../../../plugins/analysis/worker-pool.ts'

/** A worker controlled by its requests: returns, refuses, hangs or crashes. */
const SCRIPT = `
import { parentPort } from 'node:worker_threads'
parentPort.on('message', (order) => {
  if (order === 'hang') for (;;) {}
  if (order === 'crash') process.exit(3)
  if (order === 'refuse') {
    parentPort.postMessage({ refusal: { code: 'no', detail: 'Not so.', extras: { allowed: [1] } } })
  } else parentPort.postMessage({ value: order })
})
parentPort.postMessage('ready')
`
const scriptOf = (source: string): URL =>
  new URL(`data:text/javascript,${encodeURIComponent(source)}`)
const longTimeout = (): AbortSignal => AbortSignal.timeout(30_000)
const reasonOf = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'it succeeded',
    (error: unknown) => error,
  )

describe('analysis: the worker pool', () => {
  let pool: WorkerPool
  beforeEach(() => {
    pool = new WorkerPool(scriptOf(SCRIPT), { size: 1, queue: 3, deadlineMs: 300 })
  })
  afterEach(() => pool.close())

  it('returns to every request its own result', async () => {
    const answers = await Promise.all([1, 2, 3].map((order) => pool.run(order, longTimeout())))
    expect(answers).to.deep.equal([1, 2, 3])
  })

  it('rethrows a worker’s refusal as a refusal', async () => {
    expect(await reasonOf(pool.run('refuse', longTimeout()))).to.deep.include({
      name: 'Refusal',
      code: 'no',
      message: 'Not so.',
      extras: { allowed: [1] },
    })
  })

  it('replaces a worker that exceeds the deadline', async () => {
    const stuck = reasonOf(pool.run('hang', longTimeout()))
    const next = pool.run('next', longTimeout())
    expect(await stuck).to.include({ message: 'The deadline has passed.' })
    expect(await next).to.equal('next')
  })

  it('fails only the call whose worker crashes', async () => {
    const lost = reasonOf(pool.run('crash', longTimeout()))
    const next = pool.run('next', longTimeout())
    expect(await lost).to.be.an('error')
    expect(await next).to.equal('next')
  })

  it('refuses requests beyond the queue limit', async () => {
    const orders = ['hang', 'a', 'b', 'c'].map((order) => reasonOf(pool.run(order, longTimeout())))
    expect(await orders[3]).to.include({ message: 'The queue is full.' })
    await Promise.all(orders)
  })

  it('abandons an aborted call, whether queued or running', async () => {
    const controller = new AbortController()
    const orders = ['hang', 'waits'].map((order) => reasonOf(pool.run(order, controller.signal)))
    const next = pool.run('next', longTimeout())
    controller.abort()
    for (const reason of await Promise.all(orders)) {
      expect(reason).to.include({ message: 'The call was aborted.' })
    }
    expect(await next).to.equal('next')
    expect(await reasonOf(pool.run('late', controller.signal))).to.include({ name: 'AbortError' })
  })

  it('fails instead of waiting if its workers cannot start', async () => {
    const broken = new WorkerPool(scriptOf('throw new Error("no")'), {
      size: 1,
      queue: 3,
      deadlineMs: 300,
    })
    const orders = [1, 2].map((order) => reasonOf(broken.run(order, longTimeout())))
    for (const reason of await Promise.all(orders)) expect(reason).to.be.an('error')
  })
})
