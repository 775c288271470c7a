import { expect } from 'chai'
import { WorkerPool } from '../../../plugins/analysis/worker-pool.ts'

/** A worker that does what it is told: answers, refuses, hangs, crashes. */
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
const patient = (): AbortSignal => AbortSignal.timeout(30_000)
const reasonOf = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'it succeeded',
    (error: unknown) => error,
  )

describe('analysis: the pool', () => {
  let pool: WorkerPool
  beforeEach(() => {
    pool = new WorkerPool(scriptOf(SCRIPT), { size: 1, queue: 3, deadlineMs: 300 })
  })
  afterEach(() => pool.close())

  it('answers every request with its own answer', async () => {
    const answers = await Promise.all([1, 2, 3].map((order) => pool.run(order, patient())))
    expect(answers).to.deep.equal([1, 2, 3])
  })

  it('throws the refusal of a worker as a refusal', async () => {
    expect(await reasonOf(pool.run('refuse', patient()))).to.deep.include({
      name: 'Refusal',
      code: 'no',
      message: 'Not so.',
      extras: { allowed: [1] },
    })
  })

  it('ends a worker that exceeds the deadline, and serves the next from another', async () => {
    const stuck = reasonOf(pool.run('hang', patient()))
    const next = pool.run('next', patient())
    expect(await stuck).to.include({ message: 'The deadline has passed.' })
    expect(await next).to.equal('next')
  })

  it('fails the call whose worker crashes, and only that', async () => {
    const lost = reasonOf(pool.run('crash', patient()))
    const next = pool.run('next', patient())
    expect(await lost).to.be.an('error')
    expect(await next).to.equal('next')
  })

  it('refuses to queue more than it may', async () => {
    const orders = ['hang', 'a', 'b', 'c'].map((order) => reasonOf(pool.run(order, patient())))
    expect(await orders[3]).to.include({ message: 'The queue is full.' })
    await Promise.all(orders)
  })

  it('lets go of a call that is aborted, waiting or running', async () => {
    const gone = new AbortController()
    const orders = ['hang', 'waits'].map((order) => reasonOf(pool.run(order, gone.signal)))
    const next = pool.run('next', patient())
    gone.abort()
    for (const reason of await Promise.all(orders)) {
      expect(reason).to.include({ message: 'The call was aborted.' })
    }
    expect(await next).to.equal('next')
    expect(await reasonOf(pool.run('late', gone.signal))).to.include({ name: 'AbortError' })
  })

  it('fails, rather than waits, when its workers cannot start', async () => {
    const broken = new WorkerPool(scriptOf('throw new Error("no")'), {
      size: 1,
      queue: 3,
      deadlineMs: 300,
    })
    const orders = [1, 2].map((order) => reasonOf(broken.run(order, patient())))
    for (const reason of await Promise.all(orders)) expect(reason).to.be.an('error')
  })
})
