import { expect } from 'chai'
import { type Chain, ChainUnavailable, openChain } from '../../../core/payments/chain/chain.ts'
import { reconcile } from '../../../core/reconciliation/reconcile.ts'
import { NETWORK } from '../payments/stack.ts'
import { exceptionTexts, type ReconciliationFixture, startFixture } from './fixture.ts'

describe('reconciliation runs', () => {
  let fixture: ReconciliationFixture
  afterEach(() => fixture.stop())
  const rows = async (table: string) =>
    (await fixture.pool.query(`SELECT * FROM hub.${table} ORDER BY id`)).rows
  /** Dependencies with a faulty chain. */
  const withChain = (change: Partial<Chain>) =>
    reconcile(
      { ...fixture.ports, chain: { ...fixture.stack.chain, ...change } },
      { skewSeconds: 0, pieceBlocks: 3n },
    )

  it('continue where the last run ended, also in the middle', async () => {
    fixture = await startFixture()
    for (let i = 1n; i <= 5n; i++) {
      await fixture.buy(i)
      await fixture.send(fixture.payer, fixture.treasury, 10n * i)
    }
    let pieces = 0
    const transfers: Chain['transfers'] = async (range) => {
      if (++pieces === 3) throw new ChainUnavailable('the node went away')
      return fixture.stack.chain.transfers(range)
    }
    const error = await withChain({ transfers }).catch((cause: unknown) => cause)
    expect(error).to.be.instanceOf(ChainUnavailable)
    const begun = await rows('reconciliation')
    expect(begun).to.have.length(2)
    expect(begun.every((run) => run.chain_balance === null)).to.equal(true)
    const firstBlocks: bigint[] = []
    const runs = await withChain({
      transfers: (range) => {
        firstBlocks.push(range.fromBlock)
        return fixture.stack.chain.transfers(range)
      },
    })
    expect(firstBlocks[0]).to.equal(begun[1].to_block)
    expect(runs[0]).to.include({ complete: true, chain: 165n, ledger: 15n })
    expect(exceptionTexts(runs)).to.deep.equal([1, 2, 3, 4, 5].map((i) => `unknown_deposit ${i}0`))
    expect(await rows('transfer')).to.have.length(10)
  })

  it('compare nothing before the newest final block is reached', async () => {
    fixture = await startFixture()
    await fixture.send(fixture.payer, fixture.treasury, 10n)
    await fixture.mine(20)
    const [treasury] = await fixture.run({ pieceBlocks: 2n, piecesMax: 1 })
    expect(treasury).to.include({ complete: false, chain: undefined, opened: 0 })
    expect(exceptionTexts(await fixture.run({ pieceBlocks: 20n }))).to.deep.equal([
      'unknown_deposit 10',
    ])
  })

  it('count nothing twice when run concurrently', async () => {
    fixture = await startFixture()
    await fixture.buy(100n)
    await fixture.send(fixture.payer, fixture.treasury, 10n)
    await fixture.post(fixture.purchased(12n))
    const meet = barrier(3)
    const transfers: Chain['transfers'] = async (range) => {
      const found = await fixture.stack.chain.transfers(range)
      await meet()
      return found
    }
    const all = await Promise.all([1, 2, 3].map(() => withChain({ transfers })))
    expect(new Set(all.map((runs) => exceptionTexts(runs).join()))).to.deep.equal(
      new Set(['unknown_deposit 10,no_transaction -12']),
    )
    for (const wallet of ['treasury', 'spend']) {
      const runs = (await rows('reconciliation')).filter((run) => run.wallet === wallet)
      const after = runs.slice(1).map((run) => run.from_block)
      expect(after).to.deep.equal(runs.slice(0, -1).map((run) => run.to_block))
    }
    expect(await rows('transfer')).to.have.length(2)
    expect(await rows('wallet_entry')).to.have.length(4)
    expect(await rows('reconciliation_exception')).to.have.length(2)
  })

  it('ignore transfers that are not final', async () => {
    fixture = await startFixture({ finality: 4n })
    await fixture.mine(4)
    await fixture.send(fixture.payer, fixture.treasury, 10n)
    const early = await fixture.run()
    expect(exceptionTexts(early)).to.deep.equal([])
    expect(early[0]).to.include({ complete: true, chain: 0n })
    await fixture.mine(3)
    expect(exceptionTexts(await fixture.run())).to.deep.equal(['unknown_deposit 10'])
  })

  it('detect transfers removed by a reorganization, and accept their return', async () => {
    fixture = await startFixture({ finality: 2n })
    await fixture.mine(4)
    await fixture.run()
    const before = await fixture.stack.rpc('evm_snapshot')
    const { tx } = await fixture.buy(300n)
    await fixture.send(fixture.payer, fixture.treasury, 10n)
    await fixture.mine(3)
    expect(exceptionTexts(await fixture.run())).to.deep.equal(['unknown_deposit 10'])
    await fixture.stack.rpc('evm_revert', before)
    await fixture.mine(12)
    const after = await fixture.run()
    expect(exceptionTexts(after)).to.deep.equal(['reorganised -300'])
    expect(after[0]!.exceptions[0]).to.include({ tx, event: 'credits.purchased' })
    const [deposit] = await rows('reconciliation_exception')
    expect(deposit).to.include({ kind: 'unknown_deposit', resolution: 'vanished' })
    expect(deposit.explanation).to.include('reorganization')
    expect((await rows('transfer')).every((row) => row.gone_at !== null)).to.equal(true)
  })

  it('match a transfer again after a reorganization moves it to another block', async () => {
    fixture = await startFixture({ finality: 2n })
    await fixture.mine(4)
    const before = await fixture.stack.rpc('evm_snapshot')
    const { tx } = await fixture.buy(300n)
    await fixture.mine(3)
    await fixture.run()
    await fixture.stack.rpc('evm_revert', before)
    await fixture.mine(1)
    expect(await fixture.send(fixture.payer, fixture.treasury, 300n)).to.equal(tx)
    await fixture.mine(8)
    expect(exceptionTexts(await fixture.run())).to.deep.equal([])
    const [old, now] = await rows('transfer')
    expect(old.gone_at).not.to.equal(null)
    expect(now).to.include({ tx, gone_at: null, entry: old.entry })
  })

  it('stop if the node is behind or the chain changes during reading', async () => {
    fixture = await startFixture()
    await fixture.run()
    const head = async () => ({ number: 1n, time: new Date(0) })
    const behind = await withChain({ head }).catch((cause: unknown) => cause)
    expect(behind).to.be.instanceOf(ChainUnavailable)
    let requestCount = 0
    const block: Chain['block'] = async (number) => {
      const found = await fixture.stack.chain.block(number)
      return found && { ...found, hash: `0x${String(++requestCount).padStart(64, '0')}` }
    }
    const changing = await withChain({ block }).catch((cause: unknown) => cause)
    expect(changing).to.be.instanceOf(ChainUnavailable)
    expect(await rows('reconciliation')).to.have.length(2)
  })

  it('reread from a block where a node omitted transfers', async () => {
    fixture = await startFixture()
    await fixture.send(fixture.payer, fixture.treasury, 10n)
    await fixture.mine(4)
    const { number: from } = await fixture.stack.chain.head()
    const runs = await withChain({ transfers: async () => [] })
    expect(exceptionTexts(runs)).to.deep.equal(['balance_differs 10'])
    await fixture.mine(4)
    expect(exceptionTexts(await fixture.run())).to.deep.equal(['balance_differs 10'])
    expect(exceptionTexts(await fixture.run({ from: from - 5n }))).to.deep.equal([
      'unknown_deposit 10',
    ])
  })

  it('restore a transfer that a node had omitted', async () => {
    fixture = await startFixture()
    const { number: from } = await fixture.stack.chain.head()
    await fixture.buy(300n)
    await fixture.run()
    const denied = await reconcile(
      { ...fixture.ports, chain: { ...fixture.stack.chain, transfers: async () => [] } },
      { skewSeconds: 0, from },
    )
    expect(exceptionTexts(denied)).to.deep.equal(['reorganised -300', 'balance_differs 300'])
    expect(exceptionTexts(await fixture.run({ from }))).to.deep.equal([])
    expect(await rows('transfer')).to.have.length(1)
  })

  it('cannot be deleted, and exceptions cannot be changed', async () => {
    fixture = await startFixture()
    await fixture.buy(5n)
    await fixture.send(fixture.payer, fixture.treasury, 10n)
    await fixture.run()
    const refused = async (sql: string) => {
      for (const pool of [fixture.pool, fixture.admin]) {
        const error = await pool.query(sql).catch((cause: unknown) => cause)
        expect(error, sql).to.be.instanceOf(Error)
      }
    }
    for (const table of [
      'transfer',
      'wallet_entry',
      'reconciliation_exception',
      'reconciliation',
    ]) {
      await refused(`DELETE FROM hub.${table}`)
      await refused(`TRUNCATE hub.${table} CASCADE`)
    }
    await refused('UPDATE hub.reconciliation_exception SET amount = 0')
    await refused('UPDATE hub.reconciliation_exception SET resolved_at = now()')
    await refused(`UPDATE hub.reconciliation_exception SET resolved_at = now(), author = 'eve',
      resolution = 'booked', explanation = 'x'`)
    await refused('UPDATE hub.reconciliation SET chain_balance = 0')
    await refused('UPDATE hub.transfer SET entry = (SELECT min(id) FROM hub.wallet_entry)')
  })
})

/** Barrier that blocks the first `count` callers until all have arrived. */
function barrier(count: number): () => Promise<void> {
  let missing = count
  const { promise, resolve } = Promise.withResolvers<void>()
  return () => {
    if (--missing === 0) resolve()
    return missing < 0 ? Promise.resolve() : promise
  }
}

describe('the transfers of a wallet read from the chain', () => {
  let fixture: ReconciliationFixture
  before(async () => {
    fixture = await startFixture()
  })
  after(() => fixture.stop())

  it('are the same for any block range limit of a node', async () => {
    const { payer, treasury, spend } = fixture
    const { number: fromBlock } = await fixture.stack.chain.head()
    for (const value of [1n, 2n, 3n]) await fixture.send(payer, treasury, value)
    await fixture.send(treasury, treasury, 4n)
    await fixture.send(treasury, spend, 5n)
    await fixture.sendTogether([6n, 7n])
    const { number: toBlock } = await fixture.stack.chain.head()
    for (const logSpan of [1n, 2n, 2_000n]) {
      const chain = openChain({ rpcUrl: fixture.stack.rpcUrl, network: NETWORK, logSpan })
      const found = await chain.transfers({ owner: treasury, fromBlock, toBlock })
      expect(found.map(({ value }) => value)).to.deep.equal([1n, 2n, 3n, 4n, 5n, 6n, 7n])
      expect(found[0]!.from).to.equal(payer.toLowerCase())
    }
  })
  it('give the balance at a block whose state the node has pruned', async () => {
    const { chain } = fixture.stack
    const { number } = await chain.head()
    const held = await chain.balanceOf(fixture.treasury)
    await fixture.send(fixture.payer, fixture.treasury, 50n)
    await fixture.send(fixture.treasury, fixture.seller, 20n)
    expect(await chain.balanceAt(fixture.treasury, number)).to.equal(held)
    const { number: head } = await chain.head()
    expect(await chain.balanceAt(fixture.treasury, head)).to.equal(held + 30n)
  })
  it('belong to blocks that either exist or do not', async () => {
    const { chain } = fixture.stack
    const { number } = await chain.head()
    expect((await chain.block(number))!.hash).to.match(/^0x[0-9a-f]{64}$/)
    expect(await chain.block(number + 1_000n)).to.equal(undefined)
  })
})
