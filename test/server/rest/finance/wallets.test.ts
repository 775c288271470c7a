import { expect } from 'chai'
import { systemClock } from '../../../../core/clock.ts'
import { usd } from '../../../../core/money.ts'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { openChain } from '../../../../core/payments/chain/chain.ts'
import { postGasFees } from '../../../../core/payments/facilitators/gas-accounting.ts'
import { resolvePayments } from '../../../../core/payments/operations/resolve.ts'
import { readWalletBalances } from '../../../../core/payments/operations/wallet-balances.ts'
import { freePort } from '../../../../core/runtime/net.ts'
import { type WalletsJson, walletsRoutes } from '../../../../server/rest/finance/wallets.ts'
import { useHub } from '../../../support/suite.ts'
import { buyWeather, createAdmin, openSecondHub } from './fixture.ts'

const PRICE = Number(usd('0.01'))
const OPENING = Number(usd('50'))
type Wallet = Readonly<Record<string, unknown>>

/** Jobs are off, so that amounts stay in transit until the test resolves them. */
describe('platform wallets in the finance API', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })

  const look = async (at = hub().url) => {
    const { status, body } = await admin.ask({ url: at }, 'wallets')
    expect(status, JSON.stringify(body)).to.equal(200)
    const { treasury, spend, gas, ...rest } = body as Record<string, Wallet>
    return { treasury, spend, gas, ...(rest as Readonly<Record<string, unknown>>) }
  }

  it('show chain and ledger balances, with amounts in transit', async () => {
    const ada = await hub().agent(usd('5'))
    await ada.client.purchase(usd('5'))
    await buyWeather(hub(), ada.apiKey)
    await buyWeather(hub(), ada.apiKey, 'fault=failing')
    const { money } = hub().sandbox!
    const open = await look()
    expect(open).to.have.property('chain', 'ok')
    expect(open.treasury).to.deep.equal({
      address: money.treasury,
      chain_microdollars: 5_000_000,
      books_microdollars: 5_000_000,
      in_transit_microdollars: 5_000_000,
      difference_microdollars: 0,
      exceptions: 0,
    })
    expect(open.spend).to.deep.equal({
      address: money.spend.address,
      chain_microdollars: OPENING - PRICE,
      books_microdollars: OPENING,
      in_transit_microdollars: 2 * PRICE,
      difference_microdollars: -PRICE,
      exceptions: 0,
    })
    await resolvePayments(hub().hub.paymentDeps, 0)
    const resolved = await look()
    expect(resolved.treasury).to.include({
      books_microdollars: 5_000_000,
      in_transit_microdollars: 0,
    })
    expect(resolved.spend).to.include({
      books_microdollars: OPENING - PRICE,
      in_transit_microdollars: PRICE,
      difference_microdollars: 0,
    })
    const { number } = await money.chain.head()
    expect(resolved).to.have.property('block').that.is.within(1, Number(number))
  })

  it('show gas in gwei, which matches the ledger once fees are posted', async () => {
    const { hub: inner, sandbox } = hub()
    const { pool, ledger } = inner
    const wallet = sandbox!.money.gas!
    const before = await look()
    expect(before.gas).to.include({ address: wallet.address, books_gwei: 0, low: null })
    expect(before.gas).to.have.property('difference_gwei', before.gas!['chain_gwei'])
    await postGasFees({ pool, ledger, wallet, finality: 1n, ethPrice: usd('3000') })
    const { gas } = await look()
    expect(gas).to.include({ difference_gwei: 0, books_gwei: gas!['chain_gwei'] })
    expect(gas!['chain_gwei']).to.be.within(1, 10_000_000_000)
  })

  it('show only ledger balances while the node is down', async () => {
    const rpcUrl = `http://127.0.0.1:${await freePort()}`
    const chain = openChain({ rpcUrl, network: USDC_BASE.network })
    const another = await openSecondHub(hub(), { admins: [admin.wallet], chain })
    try {
      const blind = await look(another.url)
      expect(blind).to.include({ chain: 'unavailable', block: null, block_time: null })
      expect(blind.spend).to.include({
        chain_microdollars: null,
        difference_microdollars: null,
        books_microdollars: OPENING - PRICE,
      })
      expect(blind.gas).to.include({ chain_gwei: null, difference_gwei: null })
    } finally {
      await another.close()
    }
  })

  it('are shown even if the node never responds', async () => {
    const { chain, treasury, spend, gas, networks } = hub().sandbox!.money
    const silent = { ...chain, head: () => new Promise<never>(() => {}) }
    const wallets = { treasury, spend: spend.address, gas, networks }
    const ports = { pool: hub().hub.pool, chain: silent, ...wallets }
    const { chain: seen, ledger: books } = await readWalletBalances(ports, 50)
    expect(seen).to.equal(undefined)
    expect(books.spend).to.equal(BigInt(OPENING - PRICE))
  })

  it('are read from the chain again, unless a recent block is good enough', async () => {
    const { hub: core, sandbox } = hub()
    const { money } = sandbox!
    let block = 100n
    const chain = {
      ...money.chain,
      head: () => Promise.resolve({ number: ++block, time: new Date(Number(block)) }),
      balanceAt: (_: string, at: bigint) => Promise.resolve(at),
    }
    const ports = { pool: core.pool, chain, clock: systemClock, gas: undefined, networks: [] }
    const wallets = { treasury: money.treasury, spend: money.spend.address }
    let now = 1
    const [route] = walletsRoutes({ ...ports, ...wallets }, () => now)
    const read = async (which: 'now' | 'recent') => {
      const { body } = await route!.handle({ query: { chain: which } } as never)
      const { block, treasury } = body as WalletsJson
      expect(treasury.chain_microdollars, 'of the same block').to.equal(block)
      return block
    }
    expect(await read('recent')).to.equal(101)
    expect(await read('now')).to.equal(102)
    expect(await read('recent')).to.equal(101)
    now += 10_001
    expect(await read('recent'), 'after 10 s').to.equal(103)
  })
})
