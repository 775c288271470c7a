import { expect } from 'chai'
import { type AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import { postings, walletOf, X402_LOSS } from '../../../core/ledger/postings.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { micros, newId, openAgent, openProvider } from './fixture.ts'

const NETWORK = 'polygon'

/** Reversals of payments that a reorganization of their chain undid. */
describe('a payment that vanished', () => {
  let database: FreshDatabase
  let ledger: Ledger
  let loss: AccountRef
  let received: AccountRef
  let agent: AccountRef
  before(async () => {
    database = await freshDatabase()
    await database.pool.query('SELECT ledger.open_shard(1::smallint)')
    ledger = new Ledger(database.pool)
    loss = await ledger.account(X402_LOSS)
    received = await ledger.open(walletOf('in-transit', NETWORK), 'USDC')
    await ledger.open(walletOf('treasury', NETWORK), 'USDC')
  })
  beforeEach(async () => void (agent = await openAgent(ledger, 0n)))
  after(async () => {
    expect((await verifyLedger(database.pool)).ok).to.equal(true)
    await database.drop()
  })

  /** Sells credits for 9 on a network. Returns the id of the sale. */
  async function sell(network = NETWORK): Promise<string> {
    const id = newId()
    const sale = { type: 'credits.purchased', credits: agent.code, amount: micros(9n) } as const
    expect(await ledger.post({ ...sale, network }, { owner: agent, id })).to.equal('applied')
    return id
  }
  const reverse = (
    id: string,
    { recovered = 4n, lost = 5n, network = NETWORK, credits = agent.code, owner = loss } = {},
  ): Promise<string> => {
    const parts = { recovered: micros(recovered), lost: micros(lost), network }
    const event = { type: 'receipt.vanished', credits, ...parts } as const
    return ledger.post(event, { owner, id }).catch((error: Error) => error.message)
  }

  it('is credited to the account that its sale debited, and its credits go back', async () => {
    const before = await ledger.balance(received.code)
    const id = await sell()
    expect(await reverse(id)).to.equal('applied')
    expect(await ledger.balance(agent.code)).to.equal(5n)
    expect(await ledger.balance(received.code)).to.equal(before)
    expect(await reverse(id)).to.equal('replayed')
    const { rows } = await database.pool.query(
      `SELECT account, asset, amount FROM ledger.posting
       WHERE id = $1 AND event = 'receipt.vanished' ORDER BY n`,
      [id],
    )
    const event = { type: 'receipt.vanished', credits: agent.code, network: NETWORK } as const
    const legs = postings({ ...event, recovered: micros(4n), lost: micros(5n) })
    expect(rows).to.deep.equal(legs)
  })

  it('A325 is reversed on no account of another network, as an older process would', async () => {
    const id = await sell()
    expect(await reverse(id, { network: 'base' })).to.match(/on the accounts that it changed/)
    const onBase = await sell('base')
    expect(await reverse(onBase)).to.match(/on the accounts that it changed/)
    expect(await reverse(id)).to.equal('applied')
    expect(await reverse(onBase, { network: 'base' })).to.equal('applied')
  })

  it('is reversed in full, from what it bought, and only if it was sold', async () => {
    const id = await sell()
    const other = await openAgent(ledger, 100n)
    for (const wrong of [{ recovered: 3n }, { lost: 6n }, { credits: other.code }])
      expect(await reverse(id, wrong)).to.match(/on the accounts that it changed, in full/)
    expect(await reverse(newId())).to.match(/^no sale/)
    expect(await reverse(id, { owner: { ...loss, shard: 1 } })).to.match(/^no sale/)
    expect(await reverse(id, { recovered: 0n, lost: 9n })).to.equal('applied')
  })

  it('of a call is a loss of the platform, and is not taken from its provider', async () => {
    const payee = await openProvider(ledger, 'works')
    const id = newId()
    const amounts = { paid: micros(9n), commission: micros(2n) }
    const sale = { type: 'call.sold', payee: payee.code, ...amounts, network: NETWORK } as const
    expect(await ledger.post(sale, { owner: payee, id })).to.equal('applied')
    const [recovered, lost] = [0n, 9n]
    expect(await reverse(id, { recovered, lost, network: 'base' })).to.match(/that it changed/)
    expect(await reverse(id, { recovered, lost })).to.equal('applied')
    expect(await ledger.balance(payee.code)).to.equal(7n)
  })

  it('is not reversed once it is final', async () => {
    const id = await sell()
    const final = { type: 'receipt.confirmed', amount: micros(9n), network: NETWORK } as const
    expect(await ledger.post(final, { owner: received, id })).to.equal('applied')
    expect(await reverse(id)).to.match(/is final$/)
  })
})
