import { expect } from 'chai'
import { type Chain, ChainUnavailable, openChain } from '../../../core/payments/chain/chain.ts'
import { reconcile } from '../../../core/reconciliation/reconcile.ts'
import { NETWORK } from '../payments/stack.ts'
import { exceptionTexts, type ReconciliationFixture, startFixture } from './fixture.ts'

describe('runs of a reconciliation', () => {
  let world: ReconciliationFixture
  afterEach(() => world.stop())
  const rows = async (table: string) =>
    (await world.pool.query(`SELECT * FROM hub.${table} ORDER BY id`)).rows
  /** The ports with a chain on which something goes wrong. */
  const withChain = (change: Partial<Chain>) =>
    reconcile(
      { ...world.ports, chain: { ...world.stack.chain, ...change } },
      { skewSeconds: 0, pieceBlocks: 3n },
    )

  it('go on where the last one ended, also when it ended in the middle', async () => {
    world = await startFixture()
    for (let i = 1n; i <= 5n; i++) {
      await world.buy(i)
      await world.send(world.payer, world.treasury, 10n * i)
    }
    let pieces = 0
    const transfers: Chain['transfers'] = async (range) => {
      if (++pieces === 3) throw new ChainUnavailable('the node went away')
      return world.stack.chain.transfers(range)
    }
    const error = await withChain({ transfers }).catch((cause: unknown) => cause)
    expect(error).to.be.instanceOf(ChainUnavailable)
    const begun = await rows('reconciliation')
    expect(begun).to.have.length(2)
    expect(begun.every((run) => run.chain_balance === null)).to.equal(true)
    const asked: bigint[] = []
    const runs = await withChain({
      transfers: (range) => {
        asked.push(range.fromBlock)
        return world.stack.chain.transfers(range)
      },
    })
    expect(asked[0]).to.equal(begun[1].to_block)
    expect(runs[0]).to.include({ complete: true, chain: 165n, ledger: 15n })
    expect(exceptionTexts(runs)).to.deep.equal([1, 2, 3, 4, 5].map((i) => `unknown_deposit ${i}0`))
    expect(await rows('transfer')).to.have.length(10)
  })

  it('judge nothing before the newest final block is reached', async () => {
    world = await startFixture()
    await world.send(world.payer, world.treasury, 10n)
    await world.mine(20)
    const [treasury] = await world.run({ pieceBlocks: 2n, piecesMax: 1 })
    expect(treasury).to.include({ complete: false, chain: undefined, opened: 0 })
    expect(exceptionTexts(await world.run({ pieceBlocks: 20n }))).to.deep.equal([
      'unknown_deposit 10',
    ])
  })

  it('side by side count nothing twice', async () => {
    world = await startFixture()
    await world.buy(100n)
    await world.send(world.payer, world.treasury, 10n)
    await world.post(world.purchased(12n))
    const meet = barrier(3)
    const transfers: Chain['transfers'] = async (range) => {
      const found = await world.stack.chain.transfers(range)
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

  it('leave alone what is not final', async () => {
    world = await startFixture({ finality: 4n })
    await world.mine(4)
    await world.send(world.payer, world.treasury, 10n)
    const early = await world.run()
    expect(exceptionTexts(early)).to.deep.equal([])
    expect(early[0]).to.include({ complete: true, chain: 0n })
    await world.mine(3)
    expect(exceptionTexts(await world.run())).to.deep.equal(['unknown_deposit 10'])
  })

  it('find what a reorganisation took away, and take it back when it returns', async () => {
    world = await startFixture({ finality: 2n })
    await world.mine(4)
    await world.run()
    const before = await world.stack.rpc('evm_snapshot')
    const { tx } = await world.buy(300n)
    await world.send(world.payer, world.treasury, 10n)
    await world.mine(3)
    expect(exceptionTexts(await world.run())).to.deep.equal(['unknown_deposit 10'])
    await world.stack.rpc('evm_revert', before)
    await world.mine(12)
    const after = await world.run()
    expect(exceptionTexts(after)).to.deep.equal(['reorganised -300'])
    expect(after[0]!.exceptions[0]).to.include({ tx, event: 'credits.purchased' })
    const [deposit] = await rows('reconciliation_exception')
    expect(deposit).to.include({ kind: 'unknown_deposit', resolution: 'vanished' })
    expect(deposit.explanation).to.include('reorganisation')
    expect((await rows('transfer')).every((row) => row.gone_at !== null)).to.equal(true)
  })

  it('match a transfer again that a reorganisation put into another block', async () => {
    world = await startFixture({ finality: 2n })
    await world.mine(4)
    const before = await world.stack.rpc('evm_snapshot')
    const { tx } = await world.buy(300n)
    await world.mine(3)
    await world.run()
    await world.stack.rpc('evm_revert', before)
    await world.mine(1)
    expect(await world.send(world.payer, world.treasury, 300n)).to.equal(tx)
    await world.mine(8)
    expect(exceptionTexts(await world.run())).to.deep.equal([])
    const [old, now] = await rows('transfer')
    expect(old.gone_at).not.to.equal(null)
    expect(now).to.include({ tx, gone_at: null, entry: old.entry })
  })

  it('stop when the node is behind, and when the chain changes while it is read', async () => {
    world = await startFixture()
    await world.run()
    const head = async () => ({ number: 1n, time: new Date(0) })
    const behind = await withChain({ head }).catch((cause: unknown) => cause)
    expect(behind).to.be.instanceOf(ChainUnavailable)
    let asked = 0
    const block: Chain['block'] = async (number) => {
      const found = await world.stack.chain.block(number)
      return found && { ...found, hash: `0x${String(++asked).padStart(64, '0')}` }
    }
    const changing = await withChain({ block }).catch((cause: unknown) => cause)
    expect(changing).to.be.instanceOf(ChainUnavailable)
    expect(await rows('reconciliation')).to.have.length(2)
  })

  it('read again from a block where a node left something out', async () => {
    world = await startFixture()
    await world.send(world.payer, world.treasury, 10n)
    await world.mine(4)
    const { number: from } = await world.stack.chain.head()
    const runs = await withChain({ transfers: async () => [] })
    expect(exceptionTexts(runs)).to.deep.equal(['balance_differs 10'])
    await world.mine(4)
    expect(exceptionTexts(await world.run())).to.deep.equal(['balance_differs 10'])
    expect(exceptionTexts(await world.run({ from: from - 5n }))).to.deep.equal([
      'unknown_deposit 10',
    ])
  })

  it('take back a transfer that a node had denied', async () => {
    world = await startFixture()
    const { number: from } = await world.stack.chain.head()
    await world.buy(300n)
    await world.run()
    const denied = await reconcile(
      { ...world.ports, chain: { ...world.stack.chain, transfers: async () => [] } },
      { skewSeconds: 0, from },
    )
    expect(exceptionTexts(denied)).to.deep.equal(['reorganised -300', 'balance_differs 300'])
    expect(exceptionTexts(await world.run({ from }))).to.deep.equal([])
    expect(await rows('transfer')).to.have.length(1)
  })

  it('are evidence that nobody deletes, and exceptions stay what they are', async () => {
    world = await startFixture()
    await world.buy(5n)
    await world.send(world.payer, world.treasury, 10n)
    await world.run()
    const refused = async (sql: string) => {
      for (const pool of [world.pool, world.admin]) {
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

/** Holds up the first `count` callers until all of them are there. */
function barrier(count: number): () => Promise<void> {
  let missing = count
  const { promise, resolve } = Promise.withResolvers<void>()
  return () => {
    if (--missing === 0) resolve()
    return missing < 0 ? Promise.resolve() : promise
  }
}

describe('transfers of a wallet, read from the chain', () => {
  let world: ReconciliationFixture
  before(async () => {
    world = await startFixture()
  })
  after(() => world.stop())

  it('are the same whatever a node allows to ask for at once', async () => {
    const { payer, treasury, spend } = world
    const { number: fromBlock } = await world.stack.chain.head()
    for (const value of [1n, 2n, 3n]) await world.send(payer, treasury, value)
    await world.send(treasury, treasury, 4n)
    await world.send(treasury, spend, 5n)
    await world.sendTogether([6n, 7n])
    const { number: toBlock } = await world.stack.chain.head()
    for (const logSpan of [1n, 2n, 2_000n]) {
      const chain = openChain({ rpcUrl: world.stack.rpcUrl, network: NETWORK, logSpan })
      const found = await chain.transfers({ owner: treasury, fromBlock, toBlock })
      expect(found.map(({ value }) => value)).to.deep.equal([1n, 2n, 3n, 4n, 5n, 6n, 7n])
      expect(found[0]!.from).to.equal(payer.toLowerCase())
    }
  })
  it('lead back to the balance at a block whose state the node has forgotten', async () => {
    const { chain } = world.stack
    const { number } = await chain.head()
    const held = await chain.balanceOf(world.treasury)
    await world.send(world.payer, world.treasury, 50n)
    await world.send(world.treasury, world.seller, 20n)
    expect(await chain.balanceAt(world.treasury, number)).to.equal(held)
    const { number: head } = await chain.head()
    expect(await chain.balanceAt(world.treasury, head)).to.equal(held + 30n)
  })
  it('are known by blocks that either are there or are not', async () => {
    const { chain } = world.stack
    const { number } = await chain.head()
    expect((await chain.block(number))!.hash).to.match(/^0x[0-9a-f]{64}$/)
    expect(await chain.block(number + 1_000n)).to.equal(undefined)
  })
})
