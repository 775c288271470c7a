import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createLog } from '../../../core/log.ts'
import { assetOf, type Hex } from '../../../core/payments/chain/asset.ts'
import { openChain } from '../../../core/payments/chain/chain.ts'
import type { FacilitatorUnavailable } from '../../../core/payments/facilitators/facilitator.ts'
import type { PaymentNetwork } from '../../../core/payments/networks.ts'
import { createOffers } from '../../../core/payments/receiving/offers.ts'
import { openNetwork } from '../../../server/boot/production-networks.ts'
import { type SandboxChain, startChain } from '../../../server/sandbox/chain.ts'
import { serve } from '../../core/payments/facilitators/fixture.ts'
import { NETWORK, type Stack, startStack } from '../../core/payments/stack.ts'

const POLYGON = assetOf('eip155:137')
const NOBODY = 'http://127.0.0.1:9'
const TREASURY: Hex = '0x1111111111111111111111111111111111111111'

describe('a further network with real money', () => {
  let stack: Stack
  let polygon: SandboxChain
  let dataDir: string
  let genesis: Hex
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-polygon-'))
    stack = await startStack()
    polygon = await startChain({ dataDir, port: 0, asset: POLYGON })
    genesis = await openChain({ rpcUrl: polygon.rpcUrl, network: POLYGON.network }).genesis()
  })
  after(async () => {
    await polygon.stop()
    await stack.stop()
    await rm(dataDir, { recursive: true })
  })
  const open = (
    settings: { readonly rpc?: string; readonly genesis?: Hex; readonly facilitator?: string } = {},
  ) => {
    const { rpc = polygon.rpcUrl, facilitator = NOBODY } = settings
    const found = { network: POLYGON.network, rpc, genesis: settings.genesis ?? genesis }
    const more = { facilitator, treasury: TREASURY, confirmations: 15 }
    return openNetwork({ ...found, ...more }, log)
  }

  it('has the finality and the treasury that its operator named', async () => {
    const network = open()
    expect(network).to.include({ asset: POLYGON, treasury: TREASURY, finality: 15n })
    expect(await network.chain.balanceOf(TREASURY)).to.equal(0n)
  })

  it('believes no node of another chain, not even one with another first block', async () => {
    const failure = (parts: Parameters<typeof open>[0]) =>
      open(parts)
        .chain.head()
        .then(
          () => 'believed',
          (error: Error) => error.name,
        )
    expect(await failure({ rpc: stack.rpcUrl })).to.equal('ChainUnavailable')
    expect(await failure({ genesis: `0x${'7'.repeat(64)}` })).to.equal('ChainUnavailable')
    expect(lines.join('')).to.contain('serves another chain').and.to.contain('of polygon')
  })

  /** Verifies a payment as the hub does. Returns true if it is valid, or what is not available. */
  async function verify(network: PaymentNetwork): Promise<boolean | string> {
    const offers = createOffers({
      facilitator: stack.facilitator,
      payTo: TREASURY,
      network: NETWORK,
      networks: [network],
    })
    const { required } = offers.offer({
      amount: 5n,
      maxTimeoutSeconds: 60,
      resource: { url: 'http://hub.test/' },
    })
    expect(required.accepts.map((each) => each.network)).to.deep.equal([NETWORK, POLYGON.network])
    const [, accepted] = required.accepts
    const transfer = {
      from: stack.wallets.agent.account.address,
      to: TREASURY,
      value: '5',
      validAfter: '0',
      validBefore: String(BigInt(Date.now()) / 1_000n + 60n),
      nonce: `0x${'8'.repeat(64)}`,
    }
    const payload = { signature: `0x${'9'.repeat(130)}`, authorization: transfer }
    const header = Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload }))
    const payment = offers.read(header.toString('base64'))
    const requirement = offers.match(required.accepts, payment)!
    expect(requirement.network).to.equal(POLYGON.network)
    return offers.verify(payment, requirement).then(
      ({ valid }) => valid,
      (error: FacilitatorUnavailable) => error.component,
    )
  }

  it('is opened while its node and facilitator are down, and then takes no payment', async () => {
    expect(await verify(open({ rpc: NOBODY }))).to.equal('facilitator of polygon')
  })

  it('takes no payment before its node and facilitator have proven themselves', async () => {
    let supported: object = { kinds: [] }
    const service = await serve((_, res, req) =>
      res.end(JSON.stringify(req.url === '/supported' ? supported : { isValid: true })),
    )
    try {
      const [blind, network] = [{ rpc: NOBODY }, {}].map((settings) =>
        open({ ...settings, facilitator: service.url }),
      )
      expect(await verify(network!), 'supports nothing').to.equal('facilitator of polygon')
      const kind = { x402Version: 2, scheme: 'exact', network: POLYGON.network }
      supported = { kinds: [kind], extensions: [], signers: {} }
      expect(await verify(blind!), 'no node').to.equal('facilitator of polygon')
      expect(await verify(network!), 'tries again').to.equal(true)
    } finally {
      service.close()
    }
  })
})
