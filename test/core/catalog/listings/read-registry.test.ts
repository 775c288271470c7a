import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import nock from 'nock'
import { encodeFunctionData, parseAbi } from 'viem'
import { openChainLogs } from '../../../../core/catalog/listings/discovery/chain-logs.ts'
import {
  ERC8004_REGISTRY,
  type ReadRegistryDeps,
  readRegistry,
} from '../../../../core/catalog/listings/discovery/read-registry.ts'
import {
  readPaymentsTo,
  readTransfers,
} from '../../../../core/catalog/listings/discovery/read-transfers.ts'
import { listSources } from '../../../../core/catalog/listings/discovery/sources.ts'
import { RANK } from '../../../../core/catalog/listings/store.ts'
import { submitTarget } from '../../../../core/catalog/listings/submit.ts'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import { type SandboxChain, startChain } from '../../../../server/sandbox/chain.ts'
import { callRpc } from '../../../../server/sandbox/rpc.ts'
import { fund } from '../../../../server/sandbox/wallets.ts'
import contracts from '../contracts/registry.artifact.json' with { type: 'json' }
import {
  type CatalogFixture,
  clearListings,
  json,
  openCatalogFixture,
  paths,
  sells,
} from '../fixture.ts'
import { PAY_TO } from '../rows.ts'

const CALLER = '0x00000000000000000000000000000000000a9e47'
const FACILITATOR = '0x00000000000000000000000000000000000fac11'
const CALLS = parseAbi([
  'function register(string agentURI)',
  'function setAgentURI(uint256 agentId, string newURI)',
  'function transfer(address to, uint256 value)',
])
const URL = 'http://shop.test/rain'

const card = (change: object = {}) => ({
  type: 'https://eips.ethereum.org/EIPS/eip-8004#registration-v1',
  name: 'Rain agent',
  description: 'Sells the rain of tomorrow.',
  services: [{ name: 'x402', endpoint: URL }],
  x402Support: true,
  active: true,
  ...change,
})
const inline = (file: object): string =>
  `data:application/json;base64,${Buffer.from(JSON.stringify(file)).toString('base64')}`

describe('reading the registry of agents', () => {
  let fixture: CatalogFixture
  let chain: SandboxChain
  let dataDir: string
  let rpc: (method: string, ...params: unknown[]) => Promise<unknown>

  before(async () => {
    nock.restore()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    chain = await startChain({ dataDir, port: 0 })
    rpc = (method, ...params) => callRpc(chain.rpcUrl, method, params)
    fixture = await openCatalogFixture()
    await rpc('anvil_setCode', ERC8004_REGISTRY, contracts.TestRegistry.deployed)
    for (const sender of [CALLER, FACILITATOR]) {
      await fund(chain.rpcUrl, sender as `0x${string}`, { wei: 10n ** 18n, usdc: 1_000_000n })
      await rpc('anvil_impersonateAccount', sender)
    }
  })
  after(async () => {
    await fixture.close()
    await chain.stop()
    await rm(dataDir, { recursive: true, force: true })
    nock.activate()
  })
  let fromBlock = 0n
  beforeEach(async () => {
    await clearListings(fixture)
    fixture.clear()
    fixture.at('shop.test', paths({ '/rain': sells() }))
    fromBlock = BigInt(String(await rpc('eth_blockNumber'))) + 1n
  })

  const send = async (from: string, to: string, data: string): Promise<void> => {
    const hash = await rpc('eth_sendTransaction', { from, to, data })
    for (let tries = 0; (await rpc('eth_getTransactionReceipt', hash)) === null; tries++) {
      if (tries > 50) throw new Error('not mined')
      await rpc('evm_mine')
    }
  }
  const register = (uri: string) => {
    const data = encodeFunctionData({ abi: CALLS, functionName: 'register', args: [uri] })
    return send(CALLER, ERC8004_REGISTRY, data)
  }
  const update = (id: bigint, uri: string) => {
    const data = encodeFunctionData({ abi: CALLS, functionName: 'setAgentURI', args: [id, uri] })
    return send(CALLER, ERC8004_REGISTRY, data)
  }
  const read = (more: Partial<ReadRegistryDeps> = {}) =>
    readRegistry({
      ...fixture,
      chainLogs: openChainLogs(chain.rpcUrl),
      fromBlock,
      depth: 0n,
      ipfsGateway: 'http://gateway.test/ipfs/',
      ...more,
    })
  const sources = async () => {
    const { rows } = await fixture.pool.query<{
      key: string
      reason: string | null
      gone: boolean
    }>(
      `SELECT regexp_replace(key, '^agent [0-9]+ ?', '') AS key, reason, gone
       FROM hub.listing_source WHERE source LIKE 'erc8004%' ORDER BY first_seen_at, key`,
    )
    return rows
  }
  const listed = async () => {
    const { rows } = await fixture.pool.query(
      'SELECT url, method, name, state, price FROM hub.listing ORDER BY url',
    )
    return rows
  }
  const RAIN = { url: URL, method: 'GET', name: 'Rain agent', state: 'active', price: 3_000n }

  for (const [title, uriOf] of [
    ['inside the URI, in base64', () => inline(card())],
    [
      'inside the URI, as text',
      () => `data:application/json,${encodeURIComponent(JSON.stringify(card()))}`,
    ],
    ['as bare JSON', () => JSON.stringify(card())],
    ['over HTTP', () => 'http://agent.test/agent.json'],
    ['on IPFS', () => `ipfs://${'Qm'.padEnd(46, 'x')}/agent.json`],
  ] as const) {
    it(`lists the resources of an agent whose file is ${title}`, async () => {
      const file = ((_, response) => json(response, card())) satisfies Parameters<
        CatalogFixture['at']
      >[1]
      fixture.at('agent.test', paths({ '/agent.json': file }))
      fixture.at('gateway.test', file)
      await register(uriOf())
      expect(await read()).to.deep.equal({ events: 1 })
      expect(await listed()).to.deep.equal([RAIN])
      expect(await sources()).to.deep.equal([{ key: `GET ${URL}`, reason: null, gone: false }])
    })
  }

  it('stores why an agent is not listed', async () => {
    const bad: readonly (readonly [uri: string, reason: string])[] = [
      [inline(card({ active: false })), 'not_active'],
      [
        inline(card({ services: [{ name: 'MCP', endpoint: 'http://shop.test/mcp' }] })),
        'no_endpoints',
      ],
      [
        inline(card({ x402Support: false, services: [{ name: 'web', endpoint: URL }] })),
        'no_endpoints',
      ],
      ['data:application/json,{"name"', 'agent_uri'],
      ['http://agent.test/none.json', 'agent_uri'],
      ['http://127.0.0.1:8545/', 'local_host'],
      ['ar://abc', 'malformed_url'],
      ['ipfs://../../etc', 'no_url'],
      ['', 'no_url'],
      [
        inline(card({ services: [{ name: 'x402', endpoint: 'http://shop.test/gone' }] })),
        'not_found',
      ],
    ]
    for (const [uri] of bad) await register(uri)
    await read()
    const reasons = (await sources()).map(({ reason }) => reason)
    expect(reasons).to.have.members(bad.map(([, reason]) => reason))
    expect(await listed()).to.deep.equal([])
  })

  it('continues where it stopped, and reads nothing twice', async () => {
    await register(inline(card()))
    expect(await read()).to.deep.equal({ events: 1 })
    expect(await read()).to.deep.equal({ events: 0 })
    await register(inline(card({ active: false })))
    expect(await read()).to.deep.equal({ events: 1 })
    expect(fixture.visits.filter((visit) => visit === 'GET shop.test/rain')).to.have.length(1)
  })

  it("reads an agent's new file, and marks its earlier resources as gone", async () => {
    fixture.at('shop.test', paths({ '/rain': sells(), '/snow': sells({ amount: '5' }) }))
    await register(inline(card()))
    await read()
    const { rows } = await fixture.pool.query<{ id: string }>(
      `SELECT split_part(key, ' ', 2) AS id FROM hub.listing_source LIMIT 1`,
    )
    const snow = [{ name: 'x402', endpoint: 'http://shop.test/snow' }]
    await update(BigInt(rows[0]!.id), inline(card({ services: snow })))
    await read()
    expect(await sources()).to.deep.equal([
      { key: `GET ${URL}`, reason: null, gone: true },
      { key: 'GET http://shop.test/snow', reason: null, gone: false },
    ])
  })

  it('finds the resources of an origin that an agent names', async () => {
    const openapi = {
      paths: { '/rain': { get: { summary: 'Rain', 'x-payment-info': {}, responses: {} } } },
    }
    fixture.at(
      'shop.test',
      paths({ '/rain': sells(), '/openapi.json': (_, response) => json(response, openapi) }),
    )
    await register(inline(card({ services: [{ name: 'web', endpoint: 'http://shop.test/' }] })))
    await read()
    expect((await listed()).map(({ url }) => url)).to.deep.equal([URL])
  })

  it('skips the newest blocks until they are final', async () => {
    await register(inline(card()))
    expect(await read({ depth: 5n })).to.deep.equal({ events: 0 })
    for (let n = 0; n < 5; n++) await rpc('evm_mine')
    expect(await read({ depth: 5n })).to.deep.equal({ events: 1 })
  })

  it('reverts what a chain reorganization removed', async () => {
    const snapshot = await rpc('evm_snapshot')
    await register(inline(card()))
    await read()
    await rpc('evm_revert', snapshot)
    await register(inline(card({ active: false })))
    for (let n = 0; n < 3; n++) await rpc('evm_mine')
    await read()
    const now = (await sources()).filter(({ gone }) => !gone)
    expect(now.map(({ reason }) => reason)).to.deep.equal(['not_active'])
  })

  it('requests fewer blocks if the node limits them, and stops if it is down', async () => {
    await register(inline(card()))
    const logs = openChainLogs(chain.rpcUrl)
    const strict = {
      ...logs,
      logs: async (query: Parameters<typeof logs.logs>[0]) => {
        if (query.toBlock - query.fromBlock > 400n) throw new Error('range too wide')
        return logs.logs(query)
      },
    }
    for (let n = 0; n < 3; n++) await rpc('anvil_mine', '0x190')
    expect(await read({ chainLogs: strict })).to.deep.equal({ events: 1 })
    await register(inline(card()))
    const dead = { ...logs, logs: () => Promise.reject(new Error('down')) }
    expect(await read({ chainLogs: dead })).to.deep.equal({ events: 0 })
    const [source] = await listSources(fixture.pool)
    expect(source).to.include({ failures: 1, error: 'The blockchain node did not respond.' })
    expect(await read()).to.deep.equal({ events: 1 })
  })

  describe('and the payments of facilitators', () => {
    const pay = (from: string, to: string, value: bigint) => {
      const data = encodeFunctionData({
        abi: CALLS,
        functionName: 'transfer',
        args: [to as `0x${string}`, value],
      })
      return send(from, USDC_BASE.address, data)
    }
    const count = () =>
      readTransfers({
        pool: fixture.pool,
        chainLogs: openChainLogs(chain.rpcUrl),
        facilitators: [FACILITATOR],
        depth: 0n,
      })

    it('counts each transfer of a known facilitator to a listed payee once', async () => {
      const target = { url: URL, method: undefined, description: {} }
      await submitTarget(fixture, target, { source: 'submitted', rank: RANK.document })
      await count()
      const before = await readPaymentsTo(fixture.pool, PAY_TO)
      await pay(FACILITATOR, PAY_TO, 3_000n)
      await pay(FACILITATOR, PAY_TO, 2_000n)
      await pay(FACILITATOR, CALLER, 7n)
      await pay(CALLER, PAY_TO, 9_000n)
      await count()
      await count()
      const { payments, amount } = await readPaymentsTo(fixture.pool, PAY_TO)
      expect([payments - before.payments, amount - before.amount]).to.deep.equal([2, 5_000n])
    })
  })
})
