import { expect } from 'chai'
import type { Facilitator } from '../../../../core/payments/facilitators/facilitator.ts'
import { type Stack, startStack } from '../stack.ts'
import { oneByOne, prepare, proxyNode, type Served, shop } from './fixture.ts'

const RPC_TIMEOUT_MS = 200
const GARBAGE = { result: '0x1234' }

/** Ways of a node to fail, as `proxyNode` sends them. */
const FAILURES: Readonly<Record<string, unknown>> = {
  hangs: 'none',
  'answers garbage': GARBAGE,
  refuses: { error: { code: -32_005, message: 'rate limit exceeded' } },
  fails: { error: { code: -32_603, message: 'internal error' } },
}

describe('local facilitator of a node that', () => {
  let stack: Stack
  let node: Served
  let answer: unknown
  const rejections: unknown[] = []
  const note = (reason: unknown) => void rejections.push(reason)
  const kinds = (): readonly Facilitator[] => {
    const { url: rpcUrl } = node
    const shared = stack.facilitatorWith({ rpcUrl, rpcTimeoutMs: RPC_TIMEOUT_MS })
    return [shared, oneByOne(shared)]
  }
  before(async () => {
    stack = await startStack()
    node = await proxyNode(stack.rpcUrl, () => answer)
    process.on('unhandledRejection', note)
  })
  after(async () => {
    process.off('unhandledRejection', note)
    node.close()
    await stack.stop()
  })

  for (const [name, failure] of Object.entries(FAILURES)) {
    it(`${name} leaves no rejection unhandled, and is used again when it works`, async () => {
      for (const facilitator of kinds()) {
        const offers = shop(stack, facilitator)
        const payments = await Promise.all([1, 2, 3].map(() => prepare(stack)))
        answer = failure
        const work = payments.flatMap((payment) => [
          offers.verify(...payment),
          offers.settle(...payment),
        ])
        const ended = await Promise.allSettled(work)
        answer = undefined
        for (const each of ended) {
          const value = each.status === 'fulfilled' ? each.value : { valid: false }
          expect(value).not.to.include({ outcome: 'settled' })
          expect(value).not.to.include({ valid: true })
        }
        await new Promise(setImmediate)
        expect(rejections.splice(0).map(String)).to.deep.equal([])
        const again = await prepare(stack)
        expect(await offers.verify(...again)).to.include({ valid: true })
        expect(await offers.settle(...again)).to.include({ outcome: 'settled' })
      }
    })
  }
})
