import { expect } from 'chai'
import * as fc from 'fast-check'
import { adjust, NotPostable, transferCredits } from '../../../core/ledger/adjust.ts'
import { claimKey } from '../../../core/ledger/idempotency.ts'
import { type AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { reverseCall } from '../../../core/ledger/reverse.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { split } from '../../../core/money.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { micros, newId, openAgent, openProvider, order, sampleLedger } from './fixture.ts'

const DECISION = { author: 'finance@platform', reason: 'dispute 17' }

describe('manual entries', () => {
  let database: FreshDatabase
  let ledger: Ledger

  before(async () => {
    database = await freshDatabase()
    ledger = (await sampleLedger(database.pool)).ledger
  })
  after(async () => {
    const { checks } = await verifyLedger(database.pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
    await database.drop()
  })

  const failure = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: Error) => error.message,
    )

  describe('a reversal', () => {
    const settledCall = async (price: bigint, bps: number) => {
      const [owner, payee] = [
        await openAgent(ledger, price),
        await openProvider(ledger, `p${newId()}`),
      ]
      const call = order(owner, payee, price, { commissionBps: bps })
      await ledger.reserve(call)
      await ledger.settle(call, price)
      return { call, owner, payee }
    }

    it('refunds the charge once, taking it from those who received it', async () => {
      const { call, owner, payee } = await settledCall(1_001n, 1_000)
      const refund = () => reverseCall(database.pool, ledger, call, DECISION)
      const commission = await ledger.balance('income:commission')
      expect(await Promise.all([refund(), refund(), refund()])).to.have.members([
        'applied',
        'replayed',
        'replayed',
      ])
      expect(await ledger.balance(owner.code)).to.equal(1_001n)
      expect(await ledger.balance(payee.code)).to.equal(0n)
      expect(await ledger.balance('income:commission')).to.equal(commission - 100n)
      const less = reverseCall(database.pool, ledger, call, DECISION, micros(5n))
      expect(await less).to.equal('id_reused_with_other_terms')
    })

    it('splits a partial refund like the charge, and never exceeds the charge', async () => {
      const part = fc.record({
        price: fc.bigInt({ min: 1n, max: 10_000n }),
        part: fc.bigInt({ min: 1n, max: 1_000n }),
        bps: fc.nat(10_000),
      })
      await fc.assert(
        fc.asyncProperty(part, async ({ price, part: permille, bps }) => {
          const { call, owner, payee } = await settledCall(price, bps)
          const refunded = micros((price * permille + 999n) / 1_000n)
          const above = reverseCall(database.pool, ledger, call, DECISION, micros(price + 1n))
          expect(await above).to.equal('above_hold')
          const outcome = await reverseCall(database.pool, ledger, call, DECISION, refunded)
          expect(outcome).to.equal('applied')
          expect(await ledger.balance(owner.code)).to.equal(refunded)
          const { share } = split(price, bps)
          const commission = ((price - share) * refunded) / price
          expect(await ledger.balance(payee.code)).to.equal(share - (refunded - commission))
        }),
        { numRuns: 25 },
      )
    })

    it('turns an amount already paid out into a receivable', async () => {
      const { call, owner, payee } = await settledCall(1_000n, 1_000)
      const payout = { type: 'payout.started', earnings: payee.code, amount: micros(700n) } as const
      expect(await ledger.post(payout, { owner: payee, id: newId() })).to.equal('applied')
      const owed = await ledger.balance('assets:receivable:providers')
      expect(await reverseCall(database.pool, ledger, call, DECISION)).to.equal('applied')
      expect(await ledger.balance(owner.code)).to.equal(1_000n)
      expect(await ledger.balance(payee.code)).to.equal(0n)
      expect(await ledger.balance('assets:receivable:providers')).to.equal(owed - 700n)
    })

    it('of an external purchase is a loss, once its payment is final', async () => {
      const sellers = await ledger.account('liabilities:x402-out:in-transit')
      const opened = { type: 'balance.opened', account: 'assets:usdc:base:spend' } as const
      await ledger.post({ ...opened, amount: micros(90n) }, { owner: sellers, id: newId() })
      const owner = await openAgent(ledger, 90n)
      const call = order(owner, sellers, 90n, { commissionBps: 0 })
      await ledger.reserve(call)
      await ledger.settle(call, 90n)
      const refund = () => reverseCall(database.pool, ledger, call, DECISION)
      expect(await failure(refund())).to.equal('the payment to the seller is not final')
      const confirmed = { type: 'external.confirmed', amount: micros(90n) } as const
      await ledger.post(confirmed, { owner: sellers, id: call.call })
      const debts = await ledger.balance('assets:receivable:providers')
      const loss = await ledger.balance('expenses:x402-loss')
      expect(await refund()).to.equal('applied')
      expect(await ledger.balance(owner.code)).to.equal(90n)
      expect(await ledger.balance('assets:receivable:providers')).to.equal(debts)
      expect(await ledger.balance('expenses:x402-loss')).to.equal(loss - 90n)
    })

    it('makes debtors of providers only, and losses of external sellers only', async () => {
      const { call, owner } = await settledCall(50n, 0)
      const parts = { refunded: micros(50n), commission: micros(0n), receivable: micros(0n) }
      const loss = { credits: owner.code, payee: 'expenses:x402-loss', ...parts }
      const entry = { owner, id: call.call, meta: DECISION }
      expect(await failure(ledger.post({ type: 'call.reversed', ...loss }, entry))).to.match(
        /^a refund is a loss/,
      )
    })

    it('requires a charged call, also in the database', async () => {
      const [owner, payee] = [await openAgent(ledger, 10n), await openProvider(ledger, 'released')]
      const call = order(owner, payee, 10n)
      await ledger.reserve(call)
      expect(await reverseCall(database.pool, ledger, call, DECISION)).to.equal('no_such_hold')
      await ledger.release(call)
      const event = {
        type: 'call.reversed',
        credits: owner.code,
        payee: payee.code,
        refunded: micros(1n),
        commission: micros(1n),
        receivable: micros(0n),
      } as const
      const entry = { owner, id: call.call, meta: DECISION }
      expect(await ledger.post(event, entry)).to.equal('no_such_hold')
      const settled = await settledCall(5n, 0)
      const other = { owner: settled.owner, id: settled.call.call, meta: DECISION }
      const elsewhere = { ...event, payee: settled.payee.code, credits: owner.code }
      expect(await ledger.post(elsewhere, other), 'to somebody else').to.equal('above_hold')
    })
  })

  describe('a correction', () => {
    const order17 = { debit: 'expenses:bad-debt', credit: 'equity:opening', amount: 17n }

    it('is posted with its author and reason, once per idempotency key', async () => {
      const book = (amount: bigint) =>
        adjust(database.pool, ledger, { ...order17, amount }, DECISION, {
          id: newId(),
          key: 'a-17',
        })
      expect(await book(17n)).to.equal('applied')
      expect(await book(17n)).to.equal('replayed')
      expect(await book(18n)).to.equal('id_reused_with_other_terms')
      const { rows } = await database.pool.query(
        `SELECT meta FROM ledger.journal j JOIN ledger.kind k ON k.id = j.kind
         WHERE k.event = 'balance.adjusted'`,
      )
      expect(rows).to.deep.equal([{ meta: DECISION }])
    })

    it('is refused by the database without an author or a reason', async () => {
      for (const half of [{ author: 'x' }, { reason: 'y' }, { author: ' ', reason: 'y' }]) {
        const event = { type: 'balance.adjusted', asset: 'USDC', ...order17 } as const
        const owner = await ledger.account('equity:opening')
        expect(await failure(ledger.post(event, { owner, id: newId(), meta: half }))).to.match(
          /^balance.adjusted needs a (author|reason) in its meta/,
        )
      }
    })

    it('cannot take more out of an asset than there is, also concurrently', async () => {
      const receivable = 'assets:receivable:providers'
      const treasury = 'assets:usdc:base:treasury'
      const move = (debit: string, credit: string, amount: bigint) =>
        adjust(database.pool, ledger, { debit, credit, amount }, DECISION, { id: newId() })
      const writeOff = { type: 'receivable.written-off', amount: micros(1n) } as const
      const owner = await ledger.account(receivable)
      const entry = { owner, id: newId(), meta: DECISION }
      const nobody = ledger.post(writeOff, entry)
      expect(await failure(nobody)).to.match(/^receivable.written-off needs a provider/)
      const stranger = { ...entry, meta: { ...DECISION, provider: 'stranger' } }
      expect(await failure(ledger.post(writeOff, stranger))).to.equal('provider stranger owes less')
      expect(await move('expenses:bad-debt', treasury, 1n)).to.equal('insufficient_funds')
      expect(await move(treasury, 'equity:opening', 10n)).to.equal('applied')
      const outcomes = await Promise.all(
        [6n, 6n, 6n].map((amount) => move('expenses:bad-debt', treasury, amount)),
      )
      expect(outcomes.toSorted()).to.deep.equal([
        'applied',
        'insufficient_funds',
        'insufficient_funds',
      ])
      const shortfall = { type: 'shortfall.found', wallet: 'treasury', amount: micros(5n) } as const
      expect(await ledger.post(shortfall, { ...entry, id: newId() })).to.equal('insufficient_funds')
      expect(await ledger.balance(treasury)).to.equal(-4n)
    })

    it('may use an asset of all shards, and no more', async () => {
      const other = await freshDatabase()
      try {
        await other.admin.query('SELECT ledger.open_shard(1::smallint)')
        const shards = new Ledger(other.pool)
        const treasury = 'assets:usdc:base:treasury'
        const move = (debit: string, credit: string, amount: bigint, shard: number) =>
          adjust(other.pool, shards, { debit, credit, amount, shard }, DECISION, { id: newId() })
        expect(await move(treasury, 'equity:opening', 10n, 1)).to.equal('applied')
        const outcomes = await Promise.all([
          move('expenses:bad-debt', treasury, 6n, 0),
          move('expenses:bad-debt', treasury, 6n, 1),
        ])
        expect(outcomes.toSorted()).to.deep.equal(['applied', 'insufficient_funds'])
        expect(await shards.balance(treasury)).to.equal(-4n)
      } finally {
        await other.drop()
      }
    })

    it('cannot touch holds, or accounts that do not belong in one entry', async () => {
      const book = (debit: string, credit: string) =>
        failure(
          adjust(database.pool, ledger, { debit, credit, amount: 1n }, DECISION, { id: newId() }),
        )
      const held = await book('liabilities:holds', 'equity:opening')
      expect(held).to.equal('balance.adjusted may not be booked on liabilities:holds so')
      const none = await book('assets:none', 'equity:opening')
      expect(none).to.equal('no such account: assets:none')
      expect(await book('assets:eth:base:gas', 'equity:opening')).to.match(/is in GWEI/)
      const same = await book('equity:opening', 'equity:opening')
      expect(same).to.equal('debit and credit are the same account')
    })
  })

  describe('a transfer of credits', () => {
    const keyOf = async (principal: string, suffix: string): Promise<AccountRef> => {
      const id = `key_${suffix.padEnd(16, '0')}`
      const credits = await ledger.open(creditsOf(id), 'USDC', { home: 0 })
      await database.admin.query(
        `INSERT INTO hub.principal (id, shard) VALUES ($1, 0) ON CONFLICT DO NOTHING`,
        [principal],
      )
      await database.admin.query(
        `INSERT INTO hub.api_key (id, principal, credits)
         VALUES ($1, $2, $3)`,
        [id, principal, credits.id],
      )
      return credits
    }

    it('moves available credits, and only between keys of one principal', async () => {
      const [one, two] = [
        await keyOf(`prn_${'A'.repeat(16)}`, 'a'),
        await keyOf(`prn_${'A'.repeat(16)}`, 'b'),
      ]
      const stranger = await keyOf(`prn_${'B'.repeat(16)}`, 'c')
      const gift = { type: 'credits.granted', credits: one.code, amount: micros(10n) } as const
      await ledger.post(gift, { owner: one, id: newId() })
      const send = (from: AccountRef, to: AccountRef, amount: bigint, key?: string) =>
        transferCredits(
          database.pool,
          ledger,
          { from, to, amount: micros(amount) },
          { id: newId(), key },
        )
      expect(await send(one, two, 11n)).to.equal('insufficient_funds')
      expect(await send(one, two, 4n, 'k')).to.equal('applied')
      expect(await send(one, two, 4n, 'k')).to.equal('replayed')
      expect(await send(one, two, 5n, 'k')).to.equal('id_reused_with_other_terms')
      expect(await ledger.balance(two.code)).to.equal(4n)
      await send(one, stranger, 1n).then(
        () => expect.fail('a transfer to somebody else'),
        (error: unknown) => expect(error).to.be.instanceOf(NotPostable),
      )
      await send(one, one, 1n).then(
        () => expect.fail('a transfer to itself'),
        (error: unknown) => expect(error).to.be.instanceOf(NotPostable),
      )
    })
  })

  it('map an idempotency key to one id, also when claimed concurrently', async () => {
    const owner = await openAgent(ledger, 0n)
    const claims = await Promise.all(
      Array.from({ length: 20 }, () => claimKey(database.pool, owner, 'k', 'the same', newId())),
    )
    expect(new Set(claims.map((claim) => claim?.id)).size).to.equal(1)
    expect(claims.filter((claim) => claim?.replayed === false)).to.have.length(1)
    expect(await claimKey(database.pool, owner, 'k', 'another', newId())).to.equal(undefined)
    const other = await openAgent(ledger, 0n)
    const fresh = await claimKey(database.pool, other, 'k', 'the same', newId())
    expect(fresh?.replayed).to.equal(false)
  })
})
