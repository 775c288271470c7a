import { expect } from 'chai'
import type { Hex } from '../../../../core/payments/chain/asset.ts'
import {
  memoryOutbox,
  type OutboxCall,
  type SignedTransaction,
} from '../../../../core/payments/facilitators/outbox.ts'

describe('a gas wallet whose transactions are kept in memory', () => {
  it('sends a transaction again that the node lost, so that none waits behind it', async () => {
    const known = new Map<number, Hex>()
    const call = (name: string): OutboxCall => ({
      async countTransactions() {
        let count = 0
        while (known.has(count)) count++
        return count
      },
      sign: async (nonce) => ({ nonce, hash: `0x${name}`, raw: `0x${name}` }),
      async broadcast({ nonce, raw }: SignedTransaction) {
        known.set(nonce, raw)
        return { is: 'accepted' }
      },
    })
    const outbox = memoryOutbox()
    for (const name of ['a', 'b', 'c']) await outbox.send(call(name))
    known.delete(1)
    const { nonce } = await outbox.send(call('d'))
    expect(nonce).to.equal(3)
    expect([...known].sort(([a], [b]) => a - b)).to.deep.equal([
      [0, '0xa'],
      [1, '0xb'],
      [2, '0xc'],
      [3, '0xd'],
    ])
  })
})
