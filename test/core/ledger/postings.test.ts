import { expect } from 'chai'
import * as fc from 'fast-check'
import type { HoldTerms, LedgerEvent } from '../../../core/ledger/events.ts'
import { type Posting, postings } from '../../../core/ledger/postings.ts'
import { split } from '../../../core/money.ts'
import { changes } from './changes.ts'
import { micros } from './fixture.ts'

type Rules = (event: LedgerEvent) => readonly Posting[]

const amount = fc.bigInt({ min: 0n, max: 10n ** 15n })
const account = fc.constantFrom('a', 'b', 'c').map((name) => `liabilities:agents:${name}:credits`)
const guards = fc.subarray(['liabilities:allowances:day', 'liabilities:allowances:total'])
const terms: fc.Arbitrary<HoldTerms> = fc.record({
  call: fc.constant('01a1fc1b-90a0-704b-beeb-bcd7c7a7e3f3'),
  owner: account,
  asset: fc.constantFrom('USDC', 'FREECALL', 'ALLOWANCE'),
  guards,
  payee: fc.constantFrom('liabilities:providers:p:s', 'income:services:s'),
  held: fc.bigInt({ min: 1n, max: 10n ** 15n }),
})
const settled: fc.Arbitrary<LedgerEvent> = fc
  .record({ terms, part: fc.bigInt({ min: 0n, max: 1_000n }), bps: fc.nat(10_000) })
  .map(({ terms, part, bps }) => {
    const charged = (terms.held * part) / 1_000n
    const { commission } = split(charged, bps)
    return { ...terms, type: 'call.settled', charged, commission }
  })
const sold: fc.Arbitrary<LedgerEvent> = fc
  .record({ paid: amount, bps: fc.nat(10_000), payee: account })
  .map(({ paid, bps, payee }) => {
    const { commission } = split(paid, bps)
    return { type: 'call.sold', payee, paid: micros(paid), commission }
  })

const CREDITS = 'liabilities:agents:key_a:credits'
const EARNINGS = 'liabilities:providers:p:s'
/** An event that moves one amount. */
const of = <Fields extends object>(fields: Fields) =>
  amount.map((n) => ({ ...fields, amount: micros(n) }))

const refunds = fc
  .record({ refunded: amount, part: fc.bigInt({ min: 0n, max: 1_000n }), bps: fc.nat(10_000) })
  .map(({ refunded, part, bps }) => {
    const { commission } = split(refunded, bps)
    const receivable = micros(((refunded - commission) * part) / 1_000n)
    return { payee: EARNINGS, refunded: micros(refunded), commission, receivable }
  })

/** Every kind of event; the type makes this list complete. */
const KINDS: { [Type in LedgerEvent['type']]: fc.Arbitrary<LedgerEvent> } = {
  'call.reserved': terms.map((hold) => ({ ...hold, type: 'call.reserved' })),
  'call.settled': settled,
  'call.released': terms.map((hold) => ({ ...hold, type: 'call.released' })),
  'call.expired': terms.map((hold) => ({ ...hold, type: 'call.expired' })),
  'call.sold': sold,
  'period.closed': fc.constant({ type: 'period.closed' }),
  'call.reversed': refunds.map((parts) => ({ type: 'call.reversed', credits: CREDITS, ...parts })),
  'sale.reversed': fc
    .record({ parts: refunds, to: fc.constantFrom('suspense', 'between-shards') })
    .map(({ parts, to }) => ({ type: 'sale.reversed', to, ...parts })),
  'credits.purchased': of({ type: 'credits.purchased', credits: CREDITS }),
  'credits.granted': of({ type: 'credits.granted', credits: CREDITS }),
  'credits.lapsed': of({ type: 'credits.lapsed', credits: CREDITS }),
  'credits.transferred': of({ type: 'credits.transferred', from: CREDITS, to: 'b' }),
  'receipt.confirmed': of({ type: 'receipt.confirmed' }),
  'receipt.vanished': fc.record({ recovered: amount, lost: amount }).map((parts) => ({
    type: 'receipt.vanished',
    credits: CREDITS,
    recovered: micros(parts.recovered),
    lost: micros(parts.lost),
  })),
  'external.confirmed': of({ type: 'external.confirmed' }),
  'external.refunded': of({ type: 'external.refunded', credits: CREDITS }),
  'external.lost': of({ type: 'external.lost' }),
  'commission.rounded': of({ type: 'commission.rounded', earnings: EARNINGS }),
  'payout.started': of({ type: 'payout.started', earnings: EARNINGS }),
  'payout.gathered': fc.record({ direction: fc.constantFrom('out', 'in'), amount }).map((part) => ({
    type: 'payout.gathered',
    direction: part.direction,
    amount: micros(part.amount),
  })),
  'payout.confirmed': of({ type: 'payout.confirmed', wallet: 'spend' }),
  'payout.failed': of({ type: 'payout.failed', earnings: EARNINGS }),
  'receivable.recovered': of({ type: 'receivable.recovered', earnings: EARNINGS }),
  'receivable.written-off': of({ type: 'receivable.written-off' }),
  'units.granted': fc
    .record({ account, asset: fc.constantFrom('FREECALL', 'ALLOWANCE'), units: amount })
    .map((grant) => ({ type: 'units.granted', ...grant })),
  'units.withdrawn': fc
    .record({ account, asset: fc.constantFrom('FREECALL', 'ALLOWANCE'), units: amount })
    .map((units) => ({ type: 'units.withdrawn', ...units })),
  'gas.paid': fc
    .record({ gwei: amount, cost: amount })
    .map(({ gwei, cost }) => ({ type: 'gas.paid', gwei, cost: micros(cost) })),
  'holdings.revalued': fc
    .record({ contributed: amount, spent: amount, gain: amount, loss: amount })
    .map((amounts) => ({
      type: 'holdings.revalued',
      contributed: micros(amounts.contributed),
      spent: micros(amounts.spent),
      gain: micros(amounts.gain),
      loss: micros(amounts.loss),
    })),
  'facilitator.charged': of({ type: 'facilitator.charged', wallet: 'treasury' }),
  'wallet.moved': of({ type: 'wallet.moved', from: 'treasury', to: 'spend' }),
  'surplus.found': of({ type: 'surplus.found', wallet: 'treasury' }),
  'shortfall.found': of({ type: 'shortfall.found', wallet: 'spend' }),
  'deposit.identified': of({ type: 'deposit.identified', credits: CREDITS }),
  'balance.adjusted': fc
    .record({ asset: fc.constantFrom('USDC', 'GWEI', 'FREECALL', 'ALLOWANCE'), amount })
    .map((fields) => ({ type: 'balance.adjusted', debit: 'a', credit: 'b', ...fields })),
  'balance.opened': fc
    .record({ account, amount, asset: fc.constantFrom('USDC', 'GWEI') })
    .map((fields) => ({ type: 'balance.opened', ...fields })),
}

/** Property of every event: balanced for each asset, without zero or canceling legs. */
function expectBalanced(rules: Rules, event: LedgerEvent): void {
  const sums = new Map<string, bigint>()
  for (const { asset, amount } of rules(event)) {
    expect(amount, 'a leg of nothing').to.not.equal(0n)
    sums.set(asset, (sums.get(asset) ?? 0n) + amount)
  }
  for (const [asset, sum] of sums) expect(sum, `sum in ${asset}`).to.equal(0n)
}

const holdsFor = (rules: Rules, kind: LedgerEvent['type']): void =>
  fc.assert(fc.property(KINDS[kind], (event) => expectBalanced(rules, event)))

describe('postings', () => {
  for (const kind of Object.keys(KINDS) as LedgerEvent['type'][]) {
    it(`of ${kind} sum to zero for each asset`, () => holdsFor(postings, kind))
  }

  it('of a settlement distribute exactly the reserved amount', () => {
    fc.assert(
      fc.property(settled, (event) => {
        if (event.type !== 'call.settled') return
        const { owner, payee, held, charged, commission, asset } = event
        const sums = changes(event)
        if (asset === 'USDC') expect(sums.get('liabilities:holds')).to.equal(-held)
        expect(sums.get(owner) ?? 0n).to.equal(held - charged)
        expect(sums.get(payee) ?? 0n).to.equal(charged - commission)
        expect(sums.get('income:commission') ?? 0n).to.equal(commission)
        for (const guard of event.guards) expect(sums.get(guard) ?? 0n).to.equal(held - charged)
      }),
    )
  })

  it('of a reserve and its release or expiry cancel out', () => {
    fc.assert(
      fc.property(terms, (hold) => {
        const reserved = changes({ ...hold, type: 'call.reserved' })
        for (const type of ['call.released', 'call.expired'] as const) {
          const back = changes({ ...hold, type })
          expect([...back.keys()].sort()).to.deep.equal([...reserved.keys()].sort())
          for (const [name, sum] of back) expect(sum).to.equal(-reserved.get(name)!)
        }
      }),
    )
  })

  it('refuse negative movements and reserved gas', () => {
    const hold = fc.sample(terms, 1)[0]!
    const above = { ...hold, charged: hold.held + 1n, commission: 0n } as const
    expect(() => postings({ ...above, type: 'call.settled' })).to.throw(RangeError, 'negative')
    const commission = { ...hold, charged: 1n, held: 1n, commission: 2n } as const
    expect(() => postings({ ...commission, type: 'call.settled' })).to.throw(RangeError, 'negative')
    expect(() => postings({ type: 'receipt.confirmed', amount: micros(-1n) })).to.throw(RangeError)
    expect(() => postings({ ...hold, asset: 'GWEI', type: 'call.reserved' })).to.throw('gas')
  })

  it('fail the property with a planted bug: the payee also gets the commission', () => {
    const generous: Rules = (event) =>
      postings(event).map((leg) =>
        event.type === 'call.settled' && leg.account === event.payee
          ? { ...leg, amount: leg.amount + event.commission }
          : leg,
      )
    const failure = new Map<string, unknown>()
    try {
      holdsFor(generous, 'call.settled')
    } catch (error) {
      failure.set('cause', (error as Error).cause)
    }
    expect(failure.get('cause')).to.be.an('error').with.property('message').that.includes('sum in')
    holdsFor(generous, 'call.sold') // finds the planted bug
  })
})
