import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { evm } from 'mppx/client'
import { McpClient } from 'mppx/mcp/client'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { countingService, PRICE, resetWork, work } from '../../stories/counted-service.ts'
import { useHub } from '../../support/suite.ts'
import { callTool } from './ask.ts'

const WORK = { service: 'counted', endpoint: 'POST /work', input: { text: 'a' } }

describe('a paid tool that is paid by MPP', () => {
  const hub = useHub({ plugins: [countingService] })
  const account = privateKeyToAccount(generatePrivateKey())
  const method = evm({ account, currencies: [evm.assets.base.USDC] })
  const usdc = () => hub().hub.paymentDeps.chain.balanceOf(account.address)
  before(() => fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('1') }))
  beforeEach(() => void resetWork())

  it('is paid by the unmodified client of mppx, which gets its receipt', async () => {
    const before = await usdc()
    const { apiKey } = await hub().agent()
    const requestInit = { headers: { authorization: `Bearer ${apiKey}` } }
    const client = new Client({ name: 'buyer', version: '1.0.0' })
    const url = new URL('/mcp', hub().url)
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
    McpClient.wrap(client, { methods: [method] })
    const result = await client.callTool({ name: 'hub_call', arguments: WORK })
    await client.close()
    expect(result.structuredContent).to.include({ charged_usd: '0.001', paid_from: 'x402' })
    expect(result).to.have.nested.property('receipt.method', 'evm')
    expect(result).to.have.nested.property('receipt.status', 'success')
    expect(before - (await usdc())).to.equal(PRICE)
    expect(work.done).to.equal(1)
  })

  it('refuses a payment by x402 beside it, and moves nothing', async () => {
    const before = await usdc()
    const { apiKey } = await hub().agent()
    const meta = { 'x402/payment': {}, 'org.paymentauth/credential': {} }
    const { data } = await callTool(hub(), apiKey, 'hub_call', WORK, meta)
    expect(data).to.include({ error: 'duplicate_header', charged_usd: '0.00' })
    expect([work.done, before - (await usdc())]).to.deep.equal([0, 0n])
  })
})
