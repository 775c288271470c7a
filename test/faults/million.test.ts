import { expect } from 'chai'
import { openShards } from '../../core/identity/shards.ts'
import type { Account, LedgerEvent, SingleStepEvent } from '../../core/ledger/events.ts'
import { exportLedger } from '../../core/ledger/export/writer.ts'
import { type AccountRef, Ledger, type ReserveOrder } from '../../core/ledger/ledger.ts'
import { postings } from '../../core/ledger/postings.ts'
import { trialBalance } from '../../core/ledger/trial-balance.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { split } from '../../core/money.ts'
import { micros, newId } from '../core/ledger/fixture.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

const OPERATIONS = Number(process.env['FAULTS_OPERATIONS'] ?? 1_000_000)
const SHARDS = 2
const LOOPS = 512
const AGENTS = 200
const PROVIDERS = 12
const pick = (below: number): number => Math.floor(Math.random() * below)

/**
 * Runs a million random operations. The acknowledged ones, summed outside of the database by the
 * posting rules alone, must equal the balances, a rebuild from the journal and an export.
 */
describe(`${OPERATIONS.toLocaleString('en')} random operations`, function () {
  this.timeout(1_200_000)
  let database: FreshDatabase
  let ledger: Ledger
  let agents: AccountRef[]
  let providers: AccountRef[]
  const expected = new Map<Account, bigint>()
  let acknowledged = 0

  before(async () => {
    database = await freshDatabase()
    await openShards(database.pool, SHARDS)
    ledger = new Ledger(database.pool)
    agents = await Promise.all(
      Array.from({ length: AGENTS }, (_, i) =>
        ledger.open(`liabilities:agents:key_m${i}:credits`, 'USDC', { home: i % SHARDS }),
      ),
    )
    providers = await Promise.all(
      Array.from({ length: PROVIDERS }, (_, i) =>
        ledger.open(`liabilities:providers:m${i}:x`, 'USDC'),
      ),
    )
  })
  after(() => database.drop())

  function acknowledge(event: LedgerEvent): void {
    acknowledged++
    for (const { account, amount } of postings(event)) {
      expected.set(account, (expected.get(account) ?? 0n) + amount)
    }
  }

  async function post(event: SingleStepEvent, owner: AccountRef, id = newId()): Promise<void> {
    const meta = { author: 'a', reason: 'r' }
    const outcome = await ledger.post(event, { owner, id, meta })
    if (outcome === 'applied') acknowledge(event)
  }

  /** Reserves and ends one call with a random commission; some charges are refunded. */
  async function oneCall(): Promise<void> {
    const owner = agents[pick(AGENTS)]!
    const payee = providers[pick(PROVIDERS)]!
    const amount = BigInt(1 + pick(9_999))
    const bps = pick(10_001)
    const call: ReserveOrder = {
      call: newId(),
      owner,
      payee,
      amount,
      commissionBps: bps,
      ttlSeconds: 0,
    }
    const terms = { call: call.call, owner: owner.code, asset: 'USDC', guards: [] } as const
    const hold = { ...terms, payee: payee.code, held: amount }
    const reserved = await ledger.reserve(call)
    if (reserved.outcome === 'insufficient_funds') {
      const credits = owner.code
      return post({ type: 'credits.purchased', credits, amount: micros(5_000_000n) }, owner)
    }
    acknowledge({ type: 'call.reserved', ...hold })
    const end = pick(100)
    if (end < 10) {
      const outcome = end < 5 ? await ledger.release(call) : await ledger.expire(call)
      expect(outcome.outcome).to.equal('applied')
      return acknowledge({ type: end < 5 ? 'call.released' : 'call.expired', ...hold })
    }
    const charged = end < 40 ? BigInt(pick(Number(amount) + 1)) : amount
    const { commission, share } = split(charged, bps)
    expect((await ledger.settle(call, charged)).outcome).to.equal('applied')
    acknowledge({ type: 'call.settled', ...hold, charged, commission })
    if (end < 98 || charged === 0n) return
    const receivable = micros(share / 2n)
    const parties = { credits: owner.code, payee: payee.code }
    const refund = { refunded: micros(charged), commission, receivable }
    await post({ type: 'call.reversed', ...parties, ...refund }, owner, call.call)
  }

  it('equal the ledger balances to the microdollar', async () => {
    const more = (): boolean => acknowledged < OPERATIONS
    const loop = async (): Promise<void> => {
      while (more()) await oneCall()
    }
    await Promise.all(Array.from({ length: LOOPS }, loop))
    process.stdout.write(`      ${acknowledged} operations acknowledged\n`)
    for (const { account, balance } of await trialBalance(database.pool)) {
      expect(balance, account).to.equal(expected.get(account) ?? 0n)
    }
  })

  it('leave a ledger that a rebuild from the journal confirms', async () => {
    const { checks } = await verifyLedger(database.pool)
    expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
  })

  it('are exported to the same totals', async () => {
    const sums = new Map<Account, bigint>()
    let rest = ''
    for await (const chunk of exportLedger(database.pool, 'csv')) {
      const lines = (rest + chunk).split('\r\n')
      rest = lines.pop()!
      for (const line of lines) {
        const [, , , , , , account = '', asset, debit = '', credit = ''] = line.split(',')
        if (asset !== 'USDC') continue
        const amount = BigInt(credit.replace('.', '')) - BigInt(debit.replace('.', ''))
        sums.set(account, (sums.get(account) ?? 0n) + amount)
      }
    }
    for (const [account, sum] of expected) expect(sums.get(account) ?? 0n, account).to.equal(sum)
  })
})
