import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { parseTransaction } from 'viem'
import { elapsedMs } from '../../../../core/clock.ts'
import { createPool } from '../../../../core/db/pool.ts'
import type { Hex } from '../../../../core/payments/chain/asset.ts'
import { NOT_BROADCAST } from '../../../../core/payments/facilitators/facilitator.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { NETWORK, type Stack, startStack } from '../stack.ts'
import { oneByOne, type Prepared, prepare, proxyNode, type Served, shop } from './fixture.ts'

const SETTLER = fileURLToPath(new URL('./settler.ts', import.meta.url))

describe('a gas wallet whose transactions are stored in the database', () => {
  let stack: Stack
  let database: FreshDatabase
  const closers: (() => void)[] = []
  before(async () => {
    stack = await startStack()
    database = await freshDatabase()
  })
  after(async () => {
    for (const close of closers) close()
    await database.drop()
    await stack.stop()
  })
  beforeEach(async () => {
    await stack.rpc('anvil_mine')
    await database.admin.query('DELETE FROM hub.sent_transaction')
  })

  interface Settler {
    readonly child: ChildProcess
    readonly lines: Interface
  }
  const startSettler = async (rpcUrl = stack.rpcUrl): Promise<Settler> => {
    const { wallets, payTo } = stack
    const args = [SETTLER, rpcUrl, wallets.gas.key, database.url, NETWORK, payTo]
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    closers.push(() => child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })
    await once(lines, 'line')
    return { child, lines }
  }
  const settle = async ({ child, lines }: Settler, payments: readonly Prepared[]) => {
    child.stdin!.write(`${JSON.stringify(payments)}\n`)
    const [line] = (await once(lines, 'line')) as [string]
    return JSON.parse(line) as { outcome: string; tx: Hex; reason?: string }[]
  }
  const node = async (...args: Parameters<typeof proxyNode>): Promise<Served> => {
    const served = await proxyNode(...args)
    closers.push(served.close)
    return served
  }
  const facilitator = (rpcUrl = stack.rpcUrl, confirmationTimeoutMs = 5_000) =>
    stack.facilitatorWith({ rpcUrl, pool: database.pool, confirmationTimeoutMs })
  const nonceOf = async (tx: Hex | undefined): Promise<number> => {
    const found = (await stack.rpc('eth_getTransactionByHash', tx)) as { nonce: Hex }
    return Number(found.nonce)
  }
  const count = async (): Promise<number> =>
    Number(await stack.rpc('eth_getTransactionCount', stack.facilitator.address, 'latest'))
  const kept = async (): Promise<{ hash: Hex; raw: Buffer }[]> =>
    (await database.admin.query('SELECT * FROM hub.sent_transaction ORDER BY nonce')).rows
  /** Mines no block while `work` runs. */
  const withoutBlocks = async <T>(work: () => Promise<T>): Promise<T> => {
    await stack.rpc('evm_setIntervalMining', 0)
    await stack.rpc('evm_setAutomine', false)
    try {
      return await work()
    } finally {
      await stack.rpc('evm_setAutomine', true)
      await stack.rpc('anvil_mine')
    }
  }

  it('gives two processes with one key 40 consecutive nonces, each once', async () => {
    const broadcast: number[] = []
    const { url } = await node(stack.rpcUrl, ({ method, params }) => {
      if (method !== 'eth_sendRawTransaction') return
      broadcast.push(parseTransaction(params[0] as Hex).nonce!)
    })
    const [one, two] = await Promise.all([startSettler(url), startSettler(url)])
    const payments = await Promise.all(Array.from({ length: 40 }, () => prepare(stack)))
    const first = await count()
    const ends = await Promise.all([
      settle(one, payments.slice(0, 20)),
      settle(two, payments.slice(20)),
    ])
    expect(ends.flat().map(({ outcome }) => outcome)).to.deep.equal(Array(40).fill('settled'))
    const inRow = Array.from({ length: 40 }, (_, i) => first + i)
    expect(broadcast).to.deep.equal(inRow)
    const numbers = await Promise.all(ends.flat().map(({ tx }) => nonceOf(tx)))
    expect(numbers.toSorted((a, b) => a - b)).to.deep.equal(inRow)
    for (const { child } of [one, two]) child.stdin!.end()
  })

  it('knows after kill -9 what was broadcast, which settles and is not sent anew', async () => {
    const args = await prepare(stack)
    let child: ChildProcess | undefined
    let sent: Hex | undefined
    const { url } = await node(stack.rpcUrl, async ({ method, pass }) => {
      if (method !== 'eth_sendRawTransaction') return undefined
      sent = (await pass()).result as Hex
      child!.kill('SIGKILL')
      return 'none'
    })
    const settler = await startSettler(url)
    ;({ child } = settler)
    const first = await count()
    const [pending, settled] = await withoutBlocks(async () => {
      settler.child.stdin!.write(`${JSON.stringify([args])}\n`)
      await once(settler.child, 'exit')
      const settlement = await shop(stack, facilitator(stack.rpcUrl, 100)).settle(...args)
      const later = shop(stack, facilitator()).settle(...args)
      await stack.rpc('anvil_mine')
      return [settlement, await later]
    })
    expect(pending).to.include({ outcome: 'pending', tx: sent })
    expect(settled).to.include({ outcome: 'settled', tx: sent })
    expect(await count()).to.equal(first + 1)
  })

  it('leaves no gap after kill -9 between nonce and broadcast', async () => {
    const [lost, next] = await Promise.all([prepare(stack), prepare(stack)])
    let child: ChildProcess | undefined
    const { url } = await node(stack.rpcUrl, ({ method }) => {
      if (method !== 'eth_sendRawTransaction') return undefined
      child!.kill('SIGKILL')
      return 'none'
    })
    const settler = await startSettler(url)
    ;({ child } = settler)
    const first = await count()
    child.stdin!.write(`${JSON.stringify([lost])}\n`)
    await once(child, 'exit')
    expect(await count()).to.equal(first)
    const settled = await shop(stack, facilitator()).settle(...next)
    expect(settled.outcome).to.equal('settled')
    const found = await shop(stack, facilitator()).settle(...lost)
    expect(found.outcome).to.equal('settled')
    expect([found.tx, settled.tx]).to.deep.equal((await kept()).map(({ hash }) => hash))
    const receipt = await stack.rpc('eth_getTransactionReceipt', found.tx)
    expect(receipt).to.include({ status: '0x1' })
    expect(await count()).to.equal(first + 2)
  })

  it('resends with its nonce a transaction that the node never received', async () => {
    const first = await count()
    const silent = await node(stack.rpcUrl, ({ method }) =>
      method === 'eth_sendRawTransaction' ? 'none' : undefined,
    )
    const quick = { pool: database.pool, rpcTimeoutMs: 1_500, confirmationTimeoutMs: 100 }
    const unheard = stack.facilitatorWith({ rpcUrl: silent.url, ...quick })
    const pending = await shop(stack, unheard).settle(...(await prepare(stack)))
    expect(pending.outcome).to.equal('pending')
    const settled = await shop(stack, facilitator()).settle(...(await prepare(stack)))
    expect(settled.outcome).to.equal('settled')
    expect(await nonceOf(pending.tx)).to.equal(first)
    expect(await nonceOf(settled.tx)).to.equal(first + 1)
  })

  it('leaves no gap for a transaction that the node refuses on resending', async () => {
    const first = await count()
    const silent = await node(stack.rpcUrl, ({ method }) =>
      method === 'eth_sendRawTransaction' ? 'none' : undefined,
    )
    const quick = { pool: database.pool, rpcTimeoutMs: 1_500, confirmationTimeoutMs: 100 }
    const unheard = stack.facilitatorWith({ rpcUrl: silent.url, ...quick })
    await shop(stack, unheard).settle(...(await prepare(stack)))
    const [unsent] = await kept()
    const error = { code: -32_000, message: 'transaction type not supported' }
    const picky = await node(stack.rpcUrl, ({ params }) =>
      params[0] === `0x${unsent?.raw.toString('hex')}` ? { error } : undefined,
    )
    const offers = shop(stack, facilitator(picky.url))
    const settled = await offers.settle(...(await prepare(stack)))
    expect(settled.outcome).to.equal('settled')
    expect(await nonceOf(settled.tx)).to.equal(first)
  })

  it('uses no nonce twice if the node lags', async () => {
    const first = await count()
    const lagging = await node(stack.rpcUrl, ({ method }) =>
      method === 'eth_getTransactionCount' ? { result: `0x${first.toString(16)}` } : undefined,
    )
    const payments = await Promise.all(Array.from({ length: 5 }, () => prepare(stack)))
    const offers = shop(stack, oneByOne(facilitator(lagging.url)))
    const ends = await Promise.all(payments.map((args) => offers.settle(...args)))
    expect(ends.map(({ outcome }) => outcome)).to.deep.equal(Array(5).fill('settled'))
    expect(await count()).to.equal(first + 5)
  })

  it('reuses a nonce that the node has lost for half a minute', async () => {
    const first = await count()
    const lost = await withoutBlocks(async () => {
      const offers = shop(stack, facilitator(stack.rpcUrl, 100))
      const { tx } = await offers.settle(...(await prepare(stack)))
      await stack.rpc('anvil_dropTransaction', tx)
      return tx
    })
    await database.admin.query(
      `UPDATE hub.sent_transaction SET kept_at = kept_at - interval '31 seconds'`,
    )
    const settled = await shop(stack, facilitator()).settle(...(await prepare(stack)))
    expect(settled.outcome).to.equal('settled')
    expect(await nonceOf(settled.tx)).to.equal(first)
    expect(await stack.rpc('eth_getTransactionReceipt', lost)).to.equal(null)
  })

  it('sends a payment once that arrives at two processes at the same time', async () => {
    const args = await prepare(stack)
    const first = await count()
    const sent: unknown[] = []
    const both = await node(stack.rpcUrl, async ({ method, params, pass }) => {
      if (method !== 'eth_sendRawTransaction') return undefined
      const answer = await pass()
      if (sent.push(params[0]) === 2) await stack.rpc('anvil_mine')
      return answer
    })
    const ends = await withoutBlocks(() =>
      Promise.all([1, 2].map(() => shop(stack, facilitator(both.url)).settle(...args))),
    )
    expect(new Set(sent).size).to.equal(1)
    expect(new Set(ends.map(({ tx }) => tx)).size).to.equal(1)
    expect(ends.map(({ outcome }) => outcome)).to.deep.equal(['settled', 'settled'])
    expect(await count()).to.equal(first + 1)
  })

  it('does not find a payment whose receipt was seen', async () => {
    const args = await prepare(stack)
    const offers = shop(stack, facilitator())
    expect((await offers.settle(...args)).outcome).to.equal('settled')
    expect((await offers.settle(...args)).outcome).to.not.equal('settled')
  })

  /** Pool that loses the database when it stores a transaction, for `outageMs`. */
  const losingPool = (isStored: boolean, outageMs: number): Pool => {
    let outageEnd: number | undefined
    const query = async (text: string, values: unknown[]) => {
      const isLost = outageEnd === undefined && text.includes('INSERT INTO hub.sent_transaction')
      if (isLost) outageEnd = elapsedMs() + outageMs
      const isOut = outageEnd !== undefined && elapsedMs() < outageEnd
      if (isOut && isLost && isStored) await database.pool.query(text, values)
      if (isOut) throw new Error('Connection terminated unexpectedly')
      return await database.pool.query(text, values)
    }
    return { query, connect: () => database.pool.connect() } as unknown as Pool
  }

  for (const isStored of [false, true]) {
    const name = isStored ? 'after' : 'before'
    it(`settles once if the database is lost ${name} it stores a transaction`, async () => {
      const first = await count()
      const pool = losingPool(isStored, 700)
      const offers = shop(stack, oneByOne(stack.facilitatorWith({ pool })))
      const settled = await offers.settle(...(await prepare(stack)))
      expect(settled.outcome).to.equal('settled')
      expect(await count()).to.equal(first + 1)
      expect((await kept()).map(({ hash }) => hash)).to.deep.equal([settled.tx])
    })
  }

  it('leaves the outcome open if the database stays out of reach', async () => {
    const args = await prepare(stack)
    const quick = { pool: losingPool(true, 60_000), confirmationTimeoutMs: 600 }
    const settlement = await shop(stack, oneByOne(stack.facilitatorWith(quick))).settle(...args)
    expect(settlement.outcome).to.equal('pending')
    const settled = await shop(stack, facilitator()).settle(...args)
    expect(settled).to.include({ outcome: 'settled', tx: (await kept())[0]?.hash })
  })

  it('sends nothing that could not be stored', async () => {
    const heard: string[] = []
    const { url } = await node(stack.rpcUrl, ({ method }) => void heard.push(method))
    const pool = createPool('postgres://nobody@127.0.0.1:9/none', { max: 2 })
    const unkept = stack.facilitatorWith({ rpcUrl: url, pool })
    const settled = await shop(stack, unkept).settle(...(await prepare(stack)))
    expect(settled).to.include({ outcome: 'failed', reason: NOT_BROADCAST })
    expect(heard).to.not.include('eth_sendRawTransaction')
    await pool.end()
  })
})
