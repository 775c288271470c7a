import { expect } from 'chai'
import * as fc from 'fast-check'
import { explainDifference, type WalletState } from '../../../core/reconciliation/differences.ts'
import type { OpenEntry, OpenTransfer } from '../../../core/reconciliation/types.ts'

const HASHES = [1, 2, 3].map((n) => `0x${String(n).repeat(64)}` as const)
const PARTIES = [1, 2].map((n) => `0x${String(n).repeat(40)}` as const)
const NOW = new Date('2026-11-21T12:00:00Z')

const amount = fc.bigInt({ min: -9n, max: 9n }).filter((value) => value !== 0n)
const hash = fc.constantFrom(...HASHES)
const party = fc.constantFrom(...PARTIES)
const transfer: fc.Arbitrary<OpenTransfer> = fc.record({
  id: fc.bigInt({ min: 1n, max: 1_000_000n }),
  tx: hash,
  block: fc.constant(7n),
  sender: party,
  recipient: party,
  amount,
  awaits: fc.option(fc.constant('01a1'), { freq: 4 }),
})
const entry: fc.Arbitrary<OpenEntry> = fc.record({
  id: fc.bigInt({ min: 1n, max: 1_000_000n }),
  event: fc.constantFrom('credits.purchased', 'external.confirmed', 'balance.opened'),
  entry: fc.constant('01a2'),
  amount,
  tx: fc.option(hash),
  payer: fc.option(party),
  opensAt: fc.option(fc.bigInt({ min: 0n, max: 9n })),
  at: fc.date({ min: new Date('2026-11-21T11:00:00Z'), max: new Date('2026-11-21T13:00:00Z') }),
  gone: fc.option(fc.constant(3n)),
  takenBy: fc.option(fc.constant('01a3'), { freq: 4 }),
})
const facts: fc.Arbitrary<WalletState> = fc.record({
  wallet: fc.constant('treasury' as const),
  chain: fc.bigInt({ min: 0n, max: 1_000n }),
  ledger: fc.bigInt({ min: -1_000n, max: 1_000n }),
  begin: fc.constant(5n),
  finalSince: fc.constant(NOW),
  transfers: fc.array(transfer, { maxLength: 6 }),
  entries: fc.array(entry, { maxLength: 6 }),
  gone: fc.constant([]),
  transit: fc.constant([]),
})

describe('the explanation of a difference', () => {
  it('adds up to exactly the difference for any findings', () => {
    fc.assert(
      fc.property(facts, (known) => {
        const { findings, pending } = explainDifference(known)
        const sum = [...findings, ...pending].reduce((total, each) => total + each.amount, 0n)
        expect(sum).to.equal(known.chain - known.ledger)
      }),
    )
  })
  it('covers every transfer and entry once, except openings at their block', () => {
    fc.assert(
      fc.property(facts, (known) => {
        const { findings, pending } = explainDifference(known)
        const openings = known.entries.filter(
          ({ event, opensAt }) => event === 'balance.opened' && opensAt !== null && opensAt <= 5n,
        )
        const spoken = findings.flatMap(({ transfer, entry }) =>
          [transfer, entry].filter((each) => each !== undefined),
        )
        const items = known.transfers.length + known.entries.length - openings.length
        expect(spoken.length + pending.length).to.equal(items)
      }),
    )
  })
})
