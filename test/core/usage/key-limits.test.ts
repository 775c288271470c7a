import { expect } from 'chai'
import type { Clock } from '../../../core/clock.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { KeyRing } from '../../../core/identity/keys.ts'
import { createMainKey } from '../../../core/identity/main-keys.ts'
import { createSubKey } from '../../../core/identity/sub-keys.ts'
import { Ledger, type ReserveOrder } from '../../../core/ledger/ledger.ts'
import { Allowances } from '../../../core/usage/allowances.ts'
import { changeKeyLimits, type LimitChange } from '../../../core/usage/key-limits.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { micros, newId, openProvider, order } from '../ledger/fixture.ts'

const PRINCIPAL = 'prn_0000000000000001'
const NO_LIMITS = {
  name: null,
  maxCall: null,
  maxDay: null,
  maxTotal: null,
  services: null,
  expiresAt: null,
  seesMainKey: false,
}

describe('a limit of a sub-key', () => {
  let database: FreshDatabase
  let ledger: Ledger
  let now: Date
  const clock: Clock = { now: () => now }
  before(async () => {
    database = await freshDatabase()
    await database.admin.query('INSERT INTO hub.principal (id, shard) VALUES ($1, 0)', [PRINCIPAL])
    ledger = new Ledger(database.pool)
  })
  after(() => database.drop())
  beforeEach(() => {
    now = new Date('2026-11-20T12:00:00Z')
  })

  /** Creates a sub-key; `reserve` holds an amount as a call of a process does. */
  async function openSubKey(limits: object) {
    const { pool } = database
    const main = await createMainKey(pool, ledger, { id: PRINCIPAL, shard: 0 })
    const sub = await createSubKey(pool, [PRINCIPAL], main.keyId, { ...NO_LIMITS, ...limits })
    const payee = await openProvider(ledger, 'acme')
    const caller = () => new KeyRing(pool).authenticate(`Bearer ${sub.apiKey}`)
    const { credits: owner } = await caller()
    const event = { type: 'credits.purchased', credits: owner.code } as const
    await ledger.post({ ...event, amount: micros(1_000n) }, { owner, id: newId() })
    /** Process that has cached the limits that the key has now. */
    const startProcess = async () => {
      const cached = await caller()
      const allowances = new Allowances({ pool, ledger, clock })
      return async (amount: bigint): Promise<ReserveOrder | undefined> => {
        const guards = await allowances.accountsFor(cached, now)
        const call = order(owner, payee, amount, { guards })
        return (await ledger.reserve(call)).outcome === 'applied' ? call : undefined
      }
    }
    const reserve = async (amount: bigint) => (await startProcess())(amount)
    const change = (limit: LimitChange) =>
      inTransaction(pool, (client) =>
        changeKeyLimits(client, { ledger, clock }, [PRINCIPAL], sub.keyId, limit),
      )
    return { reserve, change, startProcess }
  }

  for (const limit of ['maxTotal', 'maxDay'] as const) {
    it(`is not exceeded by what calls release after it was lowered (${limit})`, async () => {
      const { reserve, change } = await openSubKey({ [limit]: 10n })
      const [first, second] = [await reserve(4n), await reserve(4n)]
      await change({ [limit]: 5n })
      expect(await reserve(1n), 'held: 8').to.equal(undefined)
      await ledger.release(first!)
      expect(await reserve(2n), 'held: 4').to.equal(undefined)
      await ledger.settle(second!, 1n)
      expect(await reserve(5n), 'spent: 1').to.equal(undefined)
      expect(await reserve(4n)).not.to.equal(undefined)
      expect(await reserve(1n)).to.equal(undefined)
    })
  }

  it('may be raised again while calls hold more than it', async () => {
    const { reserve, change } = await openSubKey({ maxTotal: 10n })
    const held = await reserve(8n)
    await change({ maxTotal: 5n })
    await change({ maxTotal: 12n })
    await ledger.release(held!)
    expect(await reserve(13n)).to.equal(undefined)
    expect(await reserve(12n)).not.to.equal(undefined)
  })

  it('counts on the next day if it is changed in the last second of a day', async () => {
    const { change, startProcess, reserve } = await openSubKey({ maxDay: 10n })
    const staleReserve = await startProcess()
    now = new Date('2026-11-20T23:59:59.500Z')
    await change({ maxDay: 5n })
    now = new Date('2026-11-21T00:00:00.100Z')
    expect(await staleReserve(6n)).to.equal(undefined)
    expect(await reserve(5n)).not.to.equal(undefined)
    expect(await reserve(1n)).to.equal(undefined)
  })
})
