import { expect } from 'chai'
import { encodeAbiParameters, keccak256 } from 'viem'
import { SPEND } from '../../../core/ledger/postings.ts'
import { callRpc } from '../../../server/sandbox/rpc.ts'
import { micros, newId } from '../ledger/fixture.ts'
import { USDC } from '../payments/stack.ts'
import {
  CREDITS,
  exceptionTexts,
  OPENING,
  pendingTexts,
  type ReconciliationFixture,
  startFixture,
} from './fixture.ts'

const INVENTED = `0x${'ab'.repeat(32)}` as const

describe('reconciliation of ledger and chain', () => {
  let fixture: ReconciliationFixture
  beforeEach(async () => {
    fixture = await startFixture()
  })
  afterEach(() => fixture.stop())

  it('finds no difference when everything was posted as it happened', async () => {
    await fixture.buy(5_000n)
    await fixture.buy(5_000n)
    await fixture.spendOn(700n)
    const lost = await fixture.send(fixture.spend, fixture.seller, 30n)
    await fixture.post({ type: 'external.lost', amount: micros(30n) }, { tx: lost })
    const moved = await fixture.send(fixture.treasury, fixture.spend, 900n)
    const move = { from: 'treasury', to: 'spend', amount: micros(900n) } as const
    await fixture.post({ type: 'wallet.moved', ...move }, { tx: moved })
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.deep.equal([])
    expect(pendingTexts(runs)).to.deep.equal([])
    expect(runs.map(({ chain, ledger }) => [chain, ledger])).to.deep.equal([
      [9_100n, 9_100n],
      [OPENING + 170n, OPENING + 170n],
    ])
    expect(runs.map(({ matched }) => matched)).to.deep.equal([3, 3])
  })

  it('distinguishes pending items from exceptions', async () => {
    const bought = await fixture.buy(4_000n, { confirmed: false })
    expect(pendingTexts(await fixture.run())).to.deep.equal(['unconfirmed 0'])
    await bought.confirm()
    expect(pendingTexts(await fixture.run())).to.deep.equal([])
    await fixture.post(fixture.purchased(11n), { payer: fixture.payer, transaction: INVENTED })
    const early = await fixture.run({ skewSeconds: 3_600 })
    expect(pendingTexts(early)).to.deep.equal(['not_final -11', 'unconfirmed 0'])
    expect(exceptionTexts(early)).to.deep.equal([])
  })

  it('does not report a transfer while its payment is pending', async () => {
    await fixture.send(fixture.payer, fixture.treasury, 60n)
    await fixture.admin.query(
      `INSERT INTO hub.payment_claim (network, asset, payer, nonce, id, purpose, payee,
         commission_bps, request_hash, amount, pay_to, valid_before)
       VALUES ('eip155:8453', $1, $2, $3, $4, 'credits', $5, 0, '', 60, $1, now())`,
      [USDC.toLowerCase(), fixture.payer.toLowerCase(), INVENTED, newId(), CREDITS],
    )
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.deep.equal([])
    expect(pendingTexts(runs)).to.deep.equal(['settling 60'])
    await fixture.send(fixture.payer, fixture.treasury, 60n) // one payment explains one transfer
    expect(exceptionTexts(await fixture.run())).to.deep.equal(['unknown_deposit 60'])
    await fixture.admin.query(`UPDATE hub.payment_claim SET state = 'failed'`)
    expect(exceptionTexts(await fixture.run()), 'watched').to.deep.equal(['unknown_deposit 60'])
    await fixture.admin.query(
      `UPDATE hub.payment_claim SET valid_before = valid_before - interval '3 minutes'`,
    )
    expect(exceptionTexts(await fixture.run())).to.deep.equal([
      'unknown_deposit 60',
      'unknown_deposit 60',
    ])
  })

  it('reports a deposit and a withdrawal without entries', async () => {
    const deposit = await fixture.send(fixture.payer, fixture.treasury, 70n)
    const withdrawal = await fixture.send(fixture.spend, fixture.seller, 80n)
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.deep.equal(['unknown_deposit 70', 'unknown_withdrawal -80'])
    const [first, second] = runs.flatMap(({ exceptions }) => exceptions)
    expect(first).to.include({ wallet: 'treasury', tx: deposit })
    expect(first!.reason).to.include(fixture.payer.toLowerCase())
    expect(second).to.include({ wallet: 'spend', tx: withdrawal })
  })

  it('reports an unposted move between platform wallets on both sides', async () => {
    await fixture.send(fixture.spend, fixture.treasury, 90n)
    expect(exceptionTexts(await fixture.run())).to.deep.equal([
      'unknown_deposit 90',
      'unknown_withdrawal -90',
    ])
  })

  it("reports an entry whose transaction is missing or somebody else's", async () => {
    await fixture.post(fixture.purchased(12n), { payer: fixture.payer, transaction: INVENTED })
    const other = await fixture.send(fixture.spend, fixture.treasury, 13n)
    await fixture.post(fixture.purchased(13n), { payer: fixture.payer, transaction: other })
    await fixture.post(fixture.purchased(14n), { payer: fixture.payer, transaction: other })
    await fixture.mine()
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.deep.equal([
      'unknown_deposit 13',
      'missing_on_chain -12',
      'missing_on_chain -13',
      'missing_on_chain -14',
      'unknown_withdrawal -13',
    ])
  })

  it('reports an entry with a different amount', async () => {
    const { id } = await fixture.buy(1_000n)
    await tamper(fixture, id, 1_001n)
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.include('amount_differs -1')
    const found = runs[0]!.exceptions.find(({ kind }) => kind === 'amount_differs')
    expect(found!.reason).to.match(/received \$0\.001, .*credits\.purchased .* records \$0\.001001/)
  })

  it('reports a second entry for one transfer', async () => {
    const { id, tx } = await fixture.buy(1_000n)
    await fixture.post(fixture.purchased(1_000n), { payer: fixture.payer, transaction: tx })
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.deep.equal(['booked_twice -1000'])
    expect(runs[0]!.exceptions[0]!.reason).to.include(id)
  })

  it('matches the transfers of one transaction one by one', async () => {
    const transaction = await fixture.sendTogether([40n, 40n, 50n])
    await fixture.post(fixture.purchased(40n), { transaction })
    await fixture.post(fixture.purchased(50n), { transaction })
    expect(exceptionTexts(await fixture.run())).to.deep.equal(['unknown_deposit 40'])
    await fixture.post(fixture.purchased(40n), { transaction })
    expect(exceptionTexts(await fixture.run())).to.deep.equal([])
    await fixture.post(fixture.purchased(40n), { transaction })
    expect(exceptionTexts(await fixture.run())).to.deep.equal(['booked_twice -40'])
  })

  it('reports an entry that changes a wallet without a transaction', async () => {
    await fixture.post(fixture.purchased(14n), { payer: fixture.payer })
    const decided = { author: 'eve', reason: 'because', transaction: '0x12' }
    const adjusted = { type: 'balance.adjusted', asset: 'USDC', amount: 15n } as const
    await fixture.post({ ...adjusted, debit: 'expenses:gas', credit: SPEND }, decided)
    expect(exceptionTexts(await fixture.run())).to.deep.equal([
      'no_transaction -14',
      'no_transaction 15',
    ])
  })

  it('accepts an opening balance only for the block it names', async () => {
    await fixture.run()
    const block = String((await fixture.stack.chain.head()).number + 1n)
    const opening = { type: 'balance.opened', account: SPEND, amount: micros(16n) } as const
    await fixture.post(opening, { block })
    expect(exceptionTexts(await fixture.run())).to.deep.equal(['no_transaction -16'])
  })

  it('reports the unexplained rest of a difference', async () => {
    await fixture.buy(2_000n)
    await fixture.send(fixture.payer, fixture.treasury, 5n)
    const held = await fixture.stack.chain.balanceOf(fixture.treasury)
    await setBalance(fixture, held + 3n) // a balance without a transfer
    const runs = await fixture.run()
    expect(exceptionTexts(runs)).to.deep.equal(['unknown_deposit 5', 'balance_differs 3'])
    await fixture.admin.query(
      `UPDATE ledger.balance SET balance = balance - 4 WHERE account =
         (SELECT id FROM ledger.account WHERE code = $1)`,
      [SPEND],
    )
    expect(exceptionTexts(await fixture.run())).to.include('balance_differs -4')
  })

  it("ignores zero transfers, which anybody can make in anybody's name", async () => {
    await fixture.send(fixture.payer, fixture.treasury, 0n)
    expect(exceptionTexts(await fixture.run())).to.deep.equal([])
  })

  it('repeats its findings without duplicates', async () => {
    await fixture.send(fixture.payer, fixture.treasury, 70n)
    await fixture.post(fixture.purchased(14n))
    const first = await fixture.run()
    const second = await fixture.run()
    expect(second.map(({ opened }) => opened)).to.deep.equal([0, 0])
    const ids = (runs: typeof first) =>
      runs.flatMap(({ exceptions }) => exceptions.map((x) => x.id))
    expect(ids(second)).to.deep.equal(ids(first)).with.length(2)
  })

  it('closes exceptions for late entries and names the entry', async () => {
    const transaction = await fixture.send(fixture.payer, fixture.treasury, 70n)
    await fixture.run()
    const id = await fixture.post(fixture.purchased(70n), { payer: fixture.payer, transaction })
    expect(exceptionTexts(await fixture.run())).to.deep.equal([])
    const { rows } = await fixture.pool.query('SELECT * FROM hub.reconciliation_exception')
    expect(rows).to.have.length(1)
    expect(rows[0]).to.include({ resolution: 'vanished', author: null })
    expect(rows[0].explanation).to.include(id)
  })

  it('prefers the transaction seen by the hub to that of the facilitator', async () => {
    const tx = await fixture.send(fixture.payer, fixture.treasury, 70n)
    const id = await fixture.post(fixture.purchased(70n), {
      payer: fixture.payer,
      transaction: INVENTED,
    })
    await fixture.mine()
    expect(exceptionTexts(await fixture.run())).to.deep.equal([
      'unknown_deposit 70',
      'missing_on_chain -70',
    ])
    const owner = await fixture.ledger.account('assets:usdc:base:in-transit')
    const event = { type: 'receipt.confirmed', amount: micros(70n) } as const
    await fixture.ledger.post(event, { owner, id, meta: { tx } })
    expect(exceptionTexts(await fixture.run())).to.deep.equal([])
  })
})

/** Changes the amount of an entry with the privileges of the table owner. */
async function tamper({ admin }: ReconciliationFixture, id: string, amount: bigint): Promise<void> {
  await admin.query('ALTER TABLE ledger.journal DISABLE TRIGGER append_only')
  await admin.query(
    `UPDATE ledger.journal SET amounts = ARRAY[-$2::bigint, $2::bigint]
     WHERE id = $1 AND owner = (SELECT id FROM ledger.account WHERE code = $3)`,
    [id, amount, CREDITS],
  )
}

/** Sets the treasury's balance in the token's storage, without a transfer event. */
async function setBalance(
  { stack, treasury }: ReconciliationFixture,
  amount: bigint,
): Promise<void> {
  const slot = keccak256(
    encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [treasury, 1n]),
  )
  const value = `0x${amount.toString(16).padStart(64, '0')}`
  await callRpc(stack.rpcUrl, 'anvil_setStorageAt', [USDC, slot, value])
}
