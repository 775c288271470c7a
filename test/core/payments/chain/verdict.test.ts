import { expect } from 'chai'
import type { PermitOutcome } from '../../../../core/payments/chain/permit.ts'
import { judgePermit } from '../../../../core/payments/chain/verdict.ts'

const address = '0x00000000000000000000000000000000000000aa'
const validBefore = new Date('2030-01-01T00:00:00Z')
const permit = { owner: address, payTo: address, nonce: '0x01', value: 70n } as const
const later = (seconds: number) => new Date(validBefore.getTime() + seconds * 1_000)

describe('the verdict about a permit', () => {
  const verdictOf = async (outcome: PermitOutcome, head = 100n) => {
    const chain = {
      permitOutcome: async () => outcome,
      head: async () => ({ number: head, time: validBefore }),
    }
    const payment = { ...permit, validBefore, fromBlock: 0n }
    return (await judgePermit({ chain, finality: 10n }, payment)).is
  }
  const used = { outcome: 'used', tx: '0x02', block: 95n, value: 70n } as const

  it('is paid by its own amount alone, once that is final', async () => {
    expect(await verdictOf(used)).to.equal('open')
    expect(await verdictOf(used, 104n)).to.equal('paid')
    expect(await verdictOf({ ...used, value: 71n }, 104n)).to.equal('void')
  })
  it('is void when an unused permit has expired', async () => {
    expect(await verdictOf({ outcome: 'unused', blockTime: later(30) })).to.equal('open')
    expect(await verdictOf({ outcome: 'unused', blockTime: later(31) })).to.equal('void')
  })
  it('waits for the log of a permit whose number is used', async () => {
    expect(await verdictOf({ outcome: 'spent', blockTime: later(600) })).to.equal('open')
    expect(await verdictOf({ outcome: 'spent', blockTime: later(601) })).to.equal('void')
  })
})
