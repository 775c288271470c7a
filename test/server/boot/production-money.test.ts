import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { ConfigError, type ProductionChain, type RemoteFacilitator } from '../../../core/config.ts'
import { createLog } from '../../../core/log.ts'
import { usd } from '../../../core/money.ts'
import { openProductionMoney } from '../../../server/boot/production-money.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { prepare, type Served, serve, shop } from '../../core/payments/facilitators/fixture.ts'
import { answer, pays } from '../../core/payments/facilitators/mock-services.ts'
import {
  identityOf,
  NETWORK,
  productionOf,
  type Stack,
  startStack,
} from '../../core/payments/stack.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const KINDS = [{ x402Version: 2, scheme: 'exact', network: NETWORK }]
const log = createLog('silent')

describe('real money', () => {
  let stack: Stack
  let database: FreshDatabase
  const stops: (() => unknown)[] = []
  before(async () => {
    stack = await startStack()
    database = await freshDatabase()
  })
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })
  after(async () => {
    await database.drop()
    await stack.stop()
  })

  const open = async (facilitator: ProductionChain['facilitator'], limit = usd('1000000')) => {
    const production = { ...productionOf(stack), facilitator, environmentKeyLimit: limit }
    const identity = await identityOf(stack)
    const { money, stop } = await openProductionMoney(production, database.url, log, { identity })
    stops.push(stop)
    return money
  }
  const refusal = (facilitator: RemoteFacilitator): Promise<ConfigError> =>
    open(facilitator).then(
      () => expect.fail('it started'),
      (error: unknown) => error as ConfigError,
    )
  /** A facilitator that lists what it supports and settles with `settle`. */
  const service = async (
    settle: Parameters<typeof serve>[0],
    members: object = {},
  ): Promise<Served> => {
    const supported = JSON.stringify({ kinds: KINDS, ...members })
    const served = await serve((body, res, req) =>
      req.url === '/supported' ? res.end(supported) : settle(body, res, req),
    )
    stops.push(served.close)
    return served
  }

  it('with a key of our own settles through the database, and knows who pays for gas', async () => {
    const { key, account } = stack.wallets.gas
    const money = await open({ gasKey: { kind: 'environment', key } })
    expect(money.others).to.deep.equal([account.address])
    expect(money.gas?.address).to.equal(account.address)
    const settled = await shop(stack, money.facilitator).settle(...(await prepare(stack)))
    expect(settled.outcome).to.equal('settled')
    const { rows } = await database.pool.query('SELECT hash FROM hub.sent_transaction')
    expect(rows).to.deep.equal([{ hash: settled.tx }])
  })

  it('is not opened on another chain, even one with the chain id of Base', async () => {
    const facilitator = { gasKey: { kind: 'environment', key: stack.wallets.gas.key } } as const
    const production = { ...productionOf(stack), facilitator }
    const error = await openProductionMoney(production, database.url, log).catch((e: unknown) => e)
    expect(error).to.be.instanceOf(ConfigError)
    expect((error as Error).message).to.match(
      /^RPC_URL: The node is not on Base: its first block is .*\. Set RPC_URL to a node of Base/,
    )
  })

  it('is opened while the node is down, and believes nothing without a proof', async () => {
    const facilitator = { gasKey: { kind: 'environment', key: stack.wallets.gas.key } } as const
    const production = { ...productionOf(stack), facilitator, rpcUrl: 'http://127.0.0.1:9' }
    const { money, stop } = await openProductionMoney(production, database.url, log)
    stops.push(stop)
    const settled = await shop(stack, money.facilitator).settle(...(await prepare(stack)))
    expect(settled.outcome).not.to.equal('settled')
  })

  it('is not opened if a wallet holds more than a key in the environment may protect', async () => {
    const { key, account } = stack.wallets.spend
    await fund(stack.rpcUrl, account.address, { usdc: 2_000_000n })
    const facilitator = { gasKey: { kind: 'environment', key: stack.wallets.gas.key } } as const
    const refused = await open(facilitator, usd('1')).then(
      () => '',
      (error: Error) => `${error.name}: ${error.message}`,
    )
    expect(refused).to.match(
      /^ConfigError: The spend wallet holds \$[\d.]+, more than.*HUB_ENV_KEY_MAX_BALANCE/s,
    )
    expect(refused).to.include('The gas wallet holds $').and.not.to.include(key)
  })

  it('with a facilitator of somebody else looks at the chain for every payment', async () => {
    const made = await stack.facilitator.settle(...(await prepare(stack)))
    const { url } = await service((_body, res) => pays(res, made.transaction))
    const { facilitator, gas } = await open({ url })
    expect(gas).to.equal(undefined)
    const settled = await shop(stack, facilitator).settle(...(await prepare(stack)))
    expect(settled.outcome).to.equal('pending')
  })

  it('does not start on a facilitator that is down, and says what to do', async () => {
    const error = await refusal({ url: 'http://127.0.0.1:9' })
    expect(error).to.be.instanceOf(ConfigError)
    expect(error.message).to.match(/^X402_FACILITATOR_URL \(127\.0\.0\.1:9\): .*ECONNREFUSED/)
    expect(error.message).to.contain('Start again when it works').and.to.contain('GAS_WALLET_KEY')
  })

  it('does not start on a facilitator that settles elsewhere, or has a key of ours', async () => {
    const elsewhere = [{ ...KINDS[0], network: 'eip155:84532' }]
    const far = await service((_body, res) => res.end(), { kinds: elsewhere })
    const signers = { [NETWORK]: [stack.payTo.toLowerCase()] }
    const thief = await service((_body, res) => res.end(), { signers })
    expect(await refusal({ url: far.url })).to.be.instanceOf(ConfigError)
    expect((await refusal({ url: far.url })).message).to.contain('does not settle "exact"')
    expect((await refusal({ url: thief.url })).message).to.contain('somebody else has its key')
  })

  it('does not show payments to the network', async () => {
    const error = await refusal({ url: 'http://facilitator.test' })
    expect(error).to.be.instanceOf(ConfigError)
    expect(error.message).to.contain('must start with https')
  })

  describe('authenticates at a facilitator', () => {
    const heard: unknown[] = []
    const listening = () =>
      service((_body, res, { headers }) => {
        heard.push(headers['authorization'])
        answer(res, { errorReason: 'invalid_payload' })
      })
    beforeEach(() => {
      heard.length = 0
    })
    const modulePath = async (text: string): Promise<string> => {
      const file = join(stack.dataDir, `${crypto.randomUUID()}.mjs`)
      await writeFile(file, text)
      return file
    }

    it('by a bearer token', async () => {
      const { url } = await listening()
      const { facilitator } = await open({ url, token: 's3cret-token' })
      await shop(stack, facilitator).settle(...(await prepare(stack)))
      expect(heard).to.deep.equal(['Bearer s3cret-token'])
    })

    it('by headers that a module makes for each request', async () => {
      const authModule = await modulePath(
        `export default async (operation, { method, url }) =>
           ({ authorization: [operation, method, new URL(url).pathname].join(' ') })`,
      )
      const { url } = await listening()
      const { facilitator } = await open({ url, authModule })
      await shop(stack, facilitator).settle(...(await prepare(stack)))
      expect(heard).to.deep.equal(['settle POST /settle'])
    })

    it('or does not start, when the module is none', async () => {
      const { url } = await listening()
      const empty = await modulePath('export const headers = {}')
      for (const authModule of [empty, '/nowhere/auth.mjs']) {
        const error = await refusal({ url, authModule })
        expect(error).to.be.instanceOf(ConfigError)
        expect(error.message).to.contain('X402_FACILITATOR_AUTH').and.to.contain(authModule)
      }
    })
  })
})
