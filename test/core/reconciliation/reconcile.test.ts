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

describe('books against the chain', () => {
  let world: ReconciliationFixture
  beforeEach(async () => {
    world = await startFixture()
  })
  afterEach(() => world.stop())

  it('agree, to the microdollar, when all was booked as it happened', async () => {
    await world.buy(5_000n)
    await world.buy(5_000n)
    await world.spendOn(700n)
    const lost = await world.send(world.spend, world.seller, 30n)
    await world.post({ type: 'external.lost', amount: micros(30n) }, { tx: lost })
    const moved = await world.send(world.treasury, world.spend, 900n)
    const move = { from: 'treasury', to: 'spend', amount: micros(900n) } as const
    await world.post({ type: 'wallet.moved', ...move }, { tx: moved })
    const runs = await world.run()
    expect(exceptionTexts(runs)).to.deep.equal([])
    expect(pendingTexts(runs)).to.deep.equal([])
    expect(runs.map(({ chain, ledger }) => [chain, ledger])).to.deep.equal([
      [9_100n, 9_100n],
      [OPENING + 170n, OPENING + 170n],
    ])
    expect(runs.map(({ matched }) => matched)).to.deep.equal([3, 3])
  })

  it('know what is under way from what is wrong', async () => {
    const bought = await world.buy(4_000n, { confirmed: false })
    expect(pendingTexts(await world.run())).to.deep.equal(['unconfirmed 0'])
    await bought.confirm()
    expect(pendingTexts(await world.run())).to.deep.equal([])
    await world.post(world.purchased(11n), { payer: world.payer, transaction: INVENTED })
    const early = await world.run({ skewSeconds: 3_600 })
    expect(pendingTexts(early)).to.deep.equal(['not_final -11', 'unconfirmed 0'])
    expect(exceptionTexts(early)).to.deep.equal([])
  })

  it('do not call a transfer unknown while its payment is at work', async () => {
    await world.send(world.payer, world.treasury, 60n)
    await world.admin.query(
      `INSERT INTO hub.payment_claim (network, asset, payer, nonce, id, purpose, payee,
         commission_bps, request_hash, amount, pay_to, valid_before)
       VALUES ('eip155:8453', $1, $2, $3, $4, 'credits', $5, 0, '', 60, $1, now())`,
      [USDC.toLowerCase(), world.payer.toLowerCase(), INVENTED, newId(), CREDITS],
    )
    const runs = await world.run()
    expect(exceptionTexts(runs)).to.deep.equal([])
    expect(pendingTexts(runs)).to.deep.equal(['settling 60'])
    await world.send(world.payer, world.treasury, 60n) // one payment explains one transfer
    expect(exceptionTexts(await world.run())).to.deep.equal(['unknown_deposit 60'])
    await world.admin.query(`UPDATE hub.payment_claim SET state = 'failed'`)
    expect(exceptionTexts(await world.run()), 'watched').to.deep.equal(['unknown_deposit 60'])
    await world.admin.query(
      `UPDATE hub.payment_claim SET valid_before = valid_before - interval '3 minutes'`,
    )
    expect(exceptionTexts(await world.run())).to.deep.equal([
      'unknown_deposit 60',
      'unknown_deposit 60',
    ])
  })

  it('name a deposit and a withdrawal that nobody booked', async () => {
    const deposit = await world.send(world.payer, world.treasury, 70n)
    const withdrawal = await world.send(world.spend, world.seller, 80n)
    const runs = await world.run()
    expect(exceptionTexts(runs)).to.deep.equal(['unknown_deposit 70', 'unknown_withdrawal -80'])
    const [first, second] = runs.flatMap(({ exceptions }) => exceptions)
    expect(first).to.include({ wallet: 'treasury', tx: deposit })
    expect(first!.reason).to.include(world.payer.toLowerCase())
    expect(second).to.include({ wallet: 'spend', tx: withdrawal })
  })

  it('name a move between our own wallets on both sides, when it was not booked', async () => {
    await world.send(world.spend, world.treasury, 90n)
    expect(exceptionTexts(await world.run())).to.deep.equal([
      'unknown_deposit 90',
      'unknown_withdrawal -90',
    ])
  })

  it('name an entry whose transaction is not on the chain, or is somebody else’s', async () => {
    await world.post(world.purchased(12n), { payer: world.payer, transaction: INVENTED })
    const other = await world.send(world.spend, world.treasury, 13n)
    await world.post(world.purchased(13n), { payer: world.payer, transaction: other })
    await world.post(world.purchased(14n), { payer: world.payer, transaction: other })
    await world.mine()
    const runs = await world.run()
    expect(exceptionTexts(runs)).to.deep.equal([
      'unknown_deposit 13',
      'missing_on_chain -12',
      'missing_on_chain -13',
      'missing_on_chain -14',
      'unknown_withdrawal -13',
    ])
  })

  it('name an amount that was booked otherwise', async () => {
    const { id } = await world.buy(1_000n)
    await tamper(world, id, 1_001n)
    const runs = await world.run()
    expect(exceptionTexts(runs)).to.include('amount_differs -1')
    const found = runs[0]!.exceptions.find(({ kind }) => kind === 'amount_differs')
    expect(found!.reason).to.match(/brought \$0\.001, .* credits\.purchased .* books \$0\.001001/)
  })

  it('name a second entry for one transfer', async () => {
    const { id, tx } = await world.buy(1_000n)
    await world.post(world.purchased(1_000n), { payer: world.payer, transaction: tx })
    const runs = await world.run()
    expect(exceptionTexts(runs)).to.deep.equal(['booked_twice -1000'])
    expect(runs[0]!.exceptions[0]!.reason).to.include(id)
  })

  it('take the transfers of one transaction one by one', async () => {
    const transaction = await world.sendTogether([40n, 40n, 50n])
    await world.post(world.purchased(40n), { transaction })
    await world.post(world.purchased(50n), { transaction })
    expect(exceptionTexts(await world.run())).to.deep.equal(['unknown_deposit 40'])
    await world.post(world.purchased(40n), { transaction })
    expect(exceptionTexts(await world.run())).to.deep.equal([])
    await world.post(world.purchased(40n), { transaction })
    expect(exceptionTexts(await world.run())).to.deep.equal(['booked_twice -40'])
  })

  it('name an entry that moves a wallet and has no transaction', async () => {
    await world.post(world.purchased(14n), { payer: world.payer })
    const decided = { author: 'eve', reason: 'because', transaction: '0x12' }
    const adjusted = { type: 'balance.adjusted', asset: 'USDC', amount: 15n } as const
    await world.post({ ...adjusted, debit: 'expenses:gas', credit: SPEND }, decided)
    expect(exceptionTexts(await world.run())).to.deep.equal([
      'no_transaction -14',
      'no_transaction 15',
    ])
  })

  it('take an opening balance for the block that it names, and for no other', async () => {
    await world.run()
    const block = String((await world.stack.chain.head()).number + 1n)
    const opening = { type: 'balance.opened', account: SPEND, amount: micros(16n) } as const
    await world.post(opening, { block })
    expect(exceptionTexts(await world.run())).to.deep.equal(['no_transaction -16'])
  })

  it('name what is left of a difference when all else is explained', async () => {
    await world.buy(2_000n)
    await world.send(world.payer, world.treasury, 5n)
    const held = await world.stack.chain.balanceOf(world.treasury)
    await setBalance(world, held + 3n) // money without a transfer
    const runs = await world.run()
    expect(exceptionTexts(runs)).to.deep.equal(['unknown_deposit 5', 'balance_differs 3'])
    await world.admin.query(
      `UPDATE ledger.balance SET balance = balance - 4 WHERE account =
         (SELECT id FROM ledger.account WHERE code = $1)`,
      [SPEND],
    )
    expect(exceptionTexts(await world.run())).to.include('balance_differs -4')
  })

  it('ignore transfers of nothing, which anybody makes in anybody’s name', async () => {
    await world.send(world.payer, world.treasury, 0n)
    expect(exceptionTexts(await world.run())).to.deep.equal([])
  })

  it('say the same again, and nothing twice', async () => {
    await world.send(world.payer, world.treasury, 70n)
    await world.post(world.purchased(14n))
    const first = await world.run()
    const second = await world.run()
    expect(second.map(({ opened }) => opened)).to.deep.equal([0, 0])
    const ids = (runs: typeof first) =>
      runs.flatMap(({ exceptions }) => exceptions.map((x) => x.id))
    expect(ids(second)).to.deep.equal(ids(first)).with.length(2)
  })

  it('close by themselves what was booked late, and say by which entry', async () => {
    const transaction = await world.send(world.payer, world.treasury, 70n)
    await world.run()
    const id = await world.post(world.purchased(70n), { payer: world.payer, transaction })
    expect(exceptionTexts(await world.run())).to.deep.equal([])
    const { rows } = await world.pool.query('SELECT * FROM hub.reconciliation_exception')
    expect(rows).to.have.length(1)
    expect(rows[0]).to.include({ resolution: 'vanished', author: null })
    expect(rows[0].explanation).to.include(id)
  })

  it('follow the hub’s own look at the chain when a facilitator names another one', async () => {
    const tx = await world.send(world.payer, world.treasury, 70n)
    const id = await world.post(world.purchased(70n), { payer: world.payer, transaction: INVENTED })
    await world.mine()
    expect(exceptionTexts(await world.run())).to.deep.equal([
      'unknown_deposit 70',
      'missing_on_chain -70',
    ])
    const owner = await world.ledger.account('assets:usdc:base:in-transit')
    const event = { type: 'receipt.confirmed', amount: micros(70n) } as const
    await world.ledger.post(event, { owner, id, meta: { tx } })
    expect(exceptionTexts(await world.run())).to.deep.equal([])
  })
})

/** Changes the amount of an entry, as somebody with the rights of the owner could. */
async function tamper({ admin }: ReconciliationFixture, id: string, amount: bigint): Promise<void> {
  await admin.query('ALTER TABLE ledger.journal DISABLE TRIGGER append_only')
  await admin.query(
    `UPDATE ledger.journal SET amounts = ARRAY[-$2::bigint, $2::bigint]
     WHERE id = $1 AND owner = (SELECT id FROM ledger.account WHERE code = $3)`,
    [id, amount, CREDITS],
  )
}

/** Writes what the treasury holds into the token's storage, past its rules and its log. */
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
