import { expect } from 'chai'
import { checkSchemas } from '../../../core/catalog/upstreams/check-schemas.ts'
import { runInWorker, WorkerLimitExceeded } from '../../../core/catalog/upstreams/run-in-worker.ts'
import { Fault } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'

const FAILING = new URL('./failing-thread.ts', import.meta.url)
const object = (count: number, each: (n: number) => JsonObject): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, each(n)])),
})
const patterns = (count: number) =>
  object(count, (n) => ({ type: 'string', pattern: `^\\pL{1,${n + 1}}x$` }))
const located = (...schemas: JsonObject[]) => schemas.map((schema, n) => ({ at: `/${n}`, schema }))

describe('published schemas', () => {
  it('are compiled without blocking the process (A040)', async () => {
    let turns = 0
    const timer = setInterval(() => (turns += 1), 1)
    const issues = await checkSchemas(located(patterns(200)))
    clearInterval(timer)
    expect(issues).to.deep.equal([])
    expect(turns, 'the event loop was not blocked').to.be.above(5)
  })

  it('are limited in the number and length of their patterns', async () => {
    const [many] = await checkSchemas(located(patterns(900), patterns(101)))
    expect(many).to.deep.include({ message: 'more than 1000 patterns in one service' })
    const long = { type: 'object', patternProperties: { ['x'.repeat(501)]: {} } }
    const [issue] = await checkSchemas(located(long))
    expect(issue).to.deep.equal({ path: '/0', message: 'a pattern has more than 500 characters' })
  })

  it('are refused with their location, few or many, if they cannot be compiled', async () => {
    const wrong = { type: 'object', properties: { x: { type: 'sting' } } }
    const [few] = await checkSchemas(
      located(
        object(3, () => ({})),
        wrong,
      ),
    )
    const [among] = await checkSchemas(
      located(
        object(400, () => ({})),
        wrong,
      ),
    )
    expect(few?.path).to.equal('/1')
    expect(among).to.deep.equal(few)
    const [engine] = await checkSchemas(
      located(object(1, () => ({ type: 'string', pattern: '(?=a)' }))),
    )
    expect(engine?.message).to.include('invalid')
  })

  it('are compiled two at a time, none waiting forever', async () => {
    const limits = { deadlineMs: 700, heapMb: 64 }
    const both = [1, 2].map(() =>
      runInWorker(FAILING, 'loop', limits).catch((error: unknown) => error),
    )
    const third = await checkSchemas(located(patterns(1))).catch((error: unknown) => error)
    expect(third).to.be.instanceOf(Fault).with.property('code', 'rate_limited')
    for (const each of await Promise.all(both)) expect(each).to.be.instanceOf(WorkerLimitExceeded)
    expect(await checkSchemas(located(patterns(1))), 'there is room again').to.deep.equal([])
  })

  it('report a defect of the compiling code as such, not as a limit of theirs', async () => {
    const failureOf = (name: string): Promise<unknown> =>
      runInWorker(FAILING, name, { deadlineMs: 30_000, heapMb: 32 }).catch(
        (error: unknown) => error,
      )
    expect(await failureOf('throw')).to.be.instanceOf(TypeError)
    expect(await failureOf('exit'))
      .to.have.property('message')
      .that.includes('without a result')
    for (const limit of ['heap', 'recurse']) {
      expect(await failureOf(limit), limit).to.be.instanceOf(WorkerLimitExceeded)
    }
  })
})
