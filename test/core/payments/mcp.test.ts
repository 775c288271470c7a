import { decodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../../core/money.ts'
import {
  MCP_PAYMENT,
  MCP_RECEIPT,
  paidToolMeta,
  paymentHeaderOf,
  paymentRequiredResult,
  withReceipt,
} from '../../../core/payments/mcp.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { ask, payFor } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

describe('x402 in the form of MCP', () => {
  const hub = useHub()

  it('is the same payment as over HTTP: offer, payment and receipt go through unchanged', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('1') })
    const order = { body: { words: 'hello' } }
    const unpaid = await ask(hub().url, '/proxy/echo/say', order)
    const required = decodePaymentRequiredHeader(String(unpaid.headers['payment-required']))
    const result = paymentRequiredResult(required)
    expect(result).to.include({ isError: true })
    expect(JSON.parse(result.content[0]!.text)).to.deep.equal(result.structuredContent)

    const header = await payFor(account, hub().url, unpaid)
    const payment = JSON.parse(Buffer.from(header, 'base64').toString())
    const sent = paymentHeaderOf({ [MCP_PAYMENT]: payment })!
    const paid = await ask(hub().url, '/proxy/echo/say', {
      ...order,
      headers: { 'payment-signature': sent },
    })
    expect(paid.status).to.equal(200)
    const told = withReceipt({ content: [] }, String(paid.headers['payment-response']))
    expect(told._meta[MCP_RECEIPT]).to.include({ success: true, network: 'eip155:8453' })
  })

  it('takes a call without a payment for an unpaid one', () => {
    expect(paymentHeaderOf(undefined)).to.equal(undefined)
    expect(paymentHeaderOf({ progressToken: 1 })).to.equal(undefined)
  })

  it('tells clients which tools are paid, and for how much', () => {
    const requirement = { scheme: 'exact', network: 'eip155:8453', amount: '3000' }
    const meta = paidToolMeta(requirement as Parameters<typeof paidToolMeta>[0])
    expect(meta.x402).to.include({ paymentRequired: true, amount: '3000' })
  })
})
