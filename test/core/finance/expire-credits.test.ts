import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { composeExpiryMail, expireCredits } from '../../../core/finance/expire-credits.ts'
import { createMainKey, findOrCreatePrincipal } from '../../../core/identity/main-keys.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { transferCredits } from '../../../core/ledger/adjust.ts'
import { type AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { micros } from '../../../core/money.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

/** Credits bought until now expire in a week. */
const POLICY = { expireDays: 7, noticeDays: 7 }

describe('credits that expire', () => {
  let database: FreshDatabase
  let ledger: Ledger
  let wallets = 0
  before(async () => {
    database = await freshDatabase()
    ledger = new Ledger(database.pool)
    // Tests move notices to the past, before the purchases.
    await database.admin.query('ALTER TABLE hub.lapse_notice DROP CONSTRAINT lapse_notice_check')
  })
  after(() => database.drop())

  const newId = (): string => uuidv7(systemClock.now().getTime())
  const run = (policy: Parameters<typeof expireCredits>[1] = POLICY) =>
    expireCredits({ pool: database.pool, ledger, clock: systemClock }, policy)
  const buy = (account: AccountRef, amount: bigint) =>
    ledger.post(
      { type: 'credits.purchased', credits: account.code, amount: micros(amount) },
      { owner: account, id: newId() },
    )
  /** Creates a wallet with main keys. */
  async function createHolder(keys: number) {
    const wallet = `0x${String(++wallets).padStart(40, '0')}`
    const principal = await findOrCreatePrincipal(database.pool, wallet)
    const accounts: AccountRef[] = []
    for (let i = 0; i < keys; i++) {
      const { keyId } = await createMainKey(database.pool, ledger, principal)
      accounts.push(await ledger.account(creditsOf(keyId)))
    }
    return { id: principal.id, accounts }
  }
  /** Lets the time of the open notices pass. */
  const makeDue = () =>
    database.admin.query(
      `UPDATE hub.lapse_notice SET noticed_at = noticed_at - interval '8 days',
         due_at = due_at - interval '8 days'
       WHERE done_at IS NULL`,
    )
  const noticeOf = async (principal: string) => {
    const { rows } = await database.pool.query<{ id: string; amount: bigint; lapsed: bigint }>(
      'SELECT id, amount, lapsed FROM hub.lapse_notice WHERE principal = $1 ORDER BY noticed_at',
      [principal],
    )
    return rows
  }
  const balances = (accounts: readonly AccountRef[]) =>
    Promise.all(accounts.map(({ code }) => ledger.balance(code)))

  it('never expire by default', async () => {
    const { id, accounts } = await createHolder(1)
    await buy(accounts[0]!, 5n)
    const never = { expireDays: undefined, noticeDays: 7 }
    expect(await run(never)).to.deep.equal({ noticed: 0, ended: 0 })
    expect(await noticeOf(id)).to.deep.equal([])
    await database.pool.query('UPDATE hub.api_key SET revoked_at = now() WHERE principal = $1', [
      id,
    ])
    const lapse = {
      type: 'credits.lapsed',
      credits: accounts[0]!.code,
      amount: micros(5n),
    } as const
    const meta = { author: 'a test', reason: 'revoked' }
    expect(await ledger.post(lapse, { owner: accounts[0]!, id: newId(), meta })).to.equal('applied')
  })

  it('are announced once, and lapse when the notice is due: the oldest unspent ones', async () => {
    const { id, accounts } = await createHolder(2)
    const [one, two] = accounts
    await buy(one!, 100n)
    expect(await run()).to.include({ noticed: 1, ended: 0 })
    expect(await run()).to.deep.equal({ noticed: 0, ended: 0 })
    const [notice] = await noticeOf(id)
    expect(notice).to.include({ amount: 100n, lapsed: null })
    const compose = () =>
      composeExpiryMail(database.pool, 'ada@acme.example', notice!.id, 'https://hub.example')
    const mail = await compose()
    expect(mail?.subject).to.equal('$0.0001 of your credits at hub.example will expire')
    await buy(two!, 30n)
    const order = { from: one!, to: two!, amount: micros(50n) }
    await transferCredits(database.pool, ledger, order, { id: newId() })
    const hold = { call: newId(), owner: one! }
    const payee = await ledger.open('income:services:test', 'USDC')
    const terms = { amount: 20n, payee, commissionBps: 0, ttlSeconds: 60 }
    await ledger.reserve({ ...hold, ...terms })
    expect(await balances(accounts)).to.deep.equal([30n, 80n])
    await makeDue()
    const [first, second] = await Promise.all([run(), run()])
    expect(first.ended + second.ended).to.equal(1)
    expect(await balances(accounts), 'what was bought later is left').to.deep.equal([0n, 30n])
    expect(await noticeOf(id)).to.deep.include({ ...notice, lapsed: 80n })
    await ledger.release(hold)
    expect(await balances(accounts), 'reserved credits return').to.deep.equal([20n, 30n])
    expect(await compose()).to.equal(undefined)
  })

  it('do not lapse without a due notice, or beyond it', async () => {
    const { id, accounts } = await createHolder(1)
    const [account] = accounts
    await buy(account!, 100n)
    await run()
    const [notice] = await noticeOf(id)
    const meta = { author: 'a test', reason: 'too soon', notice: notice!.id }
    const lapse = (amount: bigint) =>
      ledger
        .post(
          { type: 'credits.lapsed', credits: account!.code, amount: micros(amount) },
          { owner: account!, id: notice!.id, meta },
        )
        .catch((error: Error) => error.message)
    expect(await lapse(1n)).to.equal('no notice is due of so many credits')
    await makeDue()
    await buy(account!, 100n)
    expect(await lapse(101n)).to.equal('no notice is due of so many credits')
    expect(await lapse(100n)).to.equal('applied')
    expect(await lapse(99n), 'once').to.equal('id_reused_with_other_terms')
  })
})
