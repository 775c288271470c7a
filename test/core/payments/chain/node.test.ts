import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { createPublicClient, pad } from 'viem'
import { base } from 'viem/chains'
import { ChainUnavailable, openChain } from '../../../../core/payments/chain/chain.ts'
import {
  BASE_MAINNET,
  type ChainIdentity,
  findDifference,
  MULTICALL3,
} from '../../../../core/payments/chain/identity.ts'
import { provenNode, trustedNode, WrongChain } from '../../../../core/payments/chain/node.ts'
import { FacilitatorUnavailable } from '../../../../core/payments/facilitators/facilitator.ts'
import { prepare } from '../facilitators/fixture.ts'
import { identityOf, NETWORK, type Stack, startStack, USDC } from '../stack.ts'

/** Proxy before a node that breaks the connection, or has another node take its place. */
async function interruptible(rpcUrl: string) {
  const state = { target: rpcUrl, broken: false, requests: 0 }
  const relay = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const headers = { 'content-type': 'application/json' }
    const body = await text(request)
    const answer = await fetch(state.target, { method: 'POST', headers, body })
    response.writeHead(answer.status, headers).end(await answer.text())
  }
  const server = createServer((request, response) => {
    state.requests++
    if (state.broken) request.socket.destroy()
    else void relay(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  })
}

describe('a node that must prove its chain', () => {
  let stack: Stack
  let other: Stack
  let identity: ChainIdentity
  before(async () => {
    ;[stack, other] = await Promise.all([startStack(), startStack()])
    await other.rpc('anvil_setCode', USDC, '0x00') // chains of one second begin with the same block
    identity = await identityOf(stack)
  })
  after(() => Promise.all([stack.stop(), other.stop()]))

  const client = (rpcUrl: string) =>
    createPublicClient({ chain: base, transport: trustedNode(rpcUrl)({}) })
  const difference = (changes: Partial<ChainIdentity>) =>
    findDifference(client(stack.rpcUrl), { ...identity, ...changes })

  it('A191 is a local chain with the id of Base: refused for its first block', async () => {
    expect(await client(stack.rpcUrl).getChainId()).to.equal(8453)
    expect(await findDifference(client(stack.rpcUrl), BASE_MAINNET)).to.match(
      /^its first block is 0x[\da-f]{64} instead of 0xf712aa9241cc2436/,
    )
    const { prove } = provenNode(stack.rpcUrl, BASE_MAINNET)
    expect(await prove().catch((error: unknown) => error)).to.be.instanceOf(WrongChain)
  })

  it('is compared by chain id, first block, code, EIP-712 domain and block opener', async () => {
    expect(await difference({})).to.equal(undefined)
    expect(await difference({ chainId: 1 })).to.equal('its chain id is 8453 instead of 1')
    expect(await difference({ genesis: pad('0x1') })).to.contain('its first block is')
    expect(await difference({ code: BASE_MAINNET.code })).to.equal(
      `the contract at ${USDC} is not USDC`,
    )
    for (const change of [{ name: 'USDC' }, { version: '1' }, { decimals: 18 }]) {
      const asset = { ...identity.asset, ...change }
      const [name] = Object.keys(change)
      expect(await difference({ asset })).to.equal(`${name}() of the token is not what payers sign`)
    }
    const elsewhere = { ...identity.asset, address: MULTICALL3 }
    expect(await difference({ asset: elsewhere })).to.match(/^name\(\) of the token/)
  })

  it('is a copy of the chain that mines its own blocks: refused', async () => {
    await stack.rpc('anvil_mine', '0x1')
    expect(await difference({ blockOpener: BASE_MAINNET.blockOpener })).to.match(/local copy$/)
  })

  it('that serves another chain gives no evidence, and settles nothing', async () => {
    const payment = await prepare(stack)
    const { transaction: tx } = await stack.facilitator.settle(...payment)
    const { transport } = provenNode(stack.rpcUrl, BASE_MAINNET)
    const chain = openChain({ rpcUrl: stack.rpcUrl, transport, network: NETWORK })
    const reads = [
      () => chain.minedTransaction(tx as '0x'),
      () => chain.head(),
      () => chain.balanceOf(stack.payTo),
      () => chain.transfers({ owner: stack.payTo, fromBlock: 0n, toBlock: 1n }),
    ]
    for (const read of reads) {
      expect(await read().catch((error: unknown) => error)).to.be.instanceOf(ChainUnavailable)
    }
    const facilitator = stack.facilitatorWith({ transport })
    const next = await prepare(stack)
    const settled = await facilitator.settle(...next)
    expect(settled).to.include({ success: false, errorReason: 'not_broadcast' })
    const { verify, settle } = facilitator.batched!
    expect(await verify(...next).catch((error: unknown) => error)).to.be.instanceOf(
      FacilitatorUnavailable,
    )
    expect(await settle(...next)).to.include({ success: false, errorReason: 'not_broadcast' })
  })

  it('A192 is asked again after a lost connection: another may be in its place', async () => {
    const way = await interruptible(stack.rpcUrl)
    const { transport } = provenNode(way.url, identity)
    const chain = openChain({ rpcUrl: way.url, transport, network: NETWORK })
    await chain.head()
    way.broken = true
    expect(await chain.head().catch((error: unknown) => error)).to.be.instanceOf(ChainUnavailable)
    way.broken = false
    way.target = other.rpcUrl
    const { cause } = await chain.head().then(
      () => expect.fail('read from another chain'),
      (error: Error) => error,
    )
    expect(cause).to.be.instanceOf(WrongChain)
    await way.close()
  })

  it('is asked again every minute, and only then', async () => {
    const way = await interruptible(stack.rpcUrl)
    let now = 1_000_000
    const { transport } = provenNode(way.url, identity, { now: () => now })
    const chain = openChain({ rpcUrl: way.url, transport, network: NETWORK })
    await chain.head()
    const proof = way.requests - 1
    expect(proof).to.be.above(5)
    for (let i = 0; i < 10; i++) await chain.head()
    expect(way.requests).to.equal(proof + 11)
    way.target = other.rpcUrl
    now += 60_001
    expect(await chain.head().catch((error: unknown) => error)).to.be.instanceOf(ChainUnavailable)
    way.target = stack.rpcUrl
    now += 5_001
    await chain.head()
    await way.close()
  })

  it('that does not respond proves nothing: each request tries again', async () => {
    const way = await interruptible(stack.rpcUrl)
    way.broken = true
    const { prove, transport } = provenNode(way.url, identity)
    const failed = await prove().catch((error: unknown) => error)
    expect(failed).to.be.instanceOf(Error).and.not.to.be.instanceOf(WrongChain)
    way.broken = false
    await openChain({ rpcUrl: way.url, transport, network: NETWORK }).head()
    await way.close()
  })
})
