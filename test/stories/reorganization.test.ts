import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { sleep } from '../../core/clock.ts'
import { usd } from '../../core/money.ts'
import { requiredConfirmations } from '../../core/payments/chain/verdict.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { ask, payFor } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'

const AMOUNT = usd('200')

describe('a payment lost in a chain reorganization', () => {
  const hub = useHub()
  const rpc = (method: string, ...params: unknown[]) =>
    callRpc(hub().sandbox!.rpcUrl, method, params)

  it('is deducted from the remaining credits, and the rest is a loss', async () => {
    const wallet = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, wallet.address, { usdc: AMOUNT })
    const ada = await hub().agent()
    const snapshot = await rpc('evm_snapshot')
    const order = { key: ada.apiKey, body: { amount_microdollars: Number(AMOUNT) } }
    const offered = await ask(hub().url, '/v1/credits/purchase', order)
    const payment = await payFor(wallet, hub().url, offered)
    const bought = await ask(hub().url, '/v1/credits/purchase', {
      ...order,
      headers: { 'payment-signature': payment },
    })
    expect(bought).to.have.property('status', 201)
    expect(await ada.client.call('echo', '/say', { words: 'spent' })).to.include({ charged: 100n })

    expect(await rpc('evm_revert', snapshot)).to.equal(true)
    await rpc('evm_increaseTime', 600)
    await rpc('evm_mine')
    for (let tries = 0; tries < 100 && (await hub().balance(ada.keyId)) > 0n; tries++) {
      await resolvePayments(hub().hub.paymentDeps, 0)
      await sleep(50)
    }
    expect(await hub().balance(ada.keyId)).to.equal(0n)
    expect(await hub().hub.ledger.balance('expenses:x402-loss')).to.equal(-100n)
    expect(await hub().hub.ledger.balance('assets:usdc:base:in-transit')).to.equal(0n)
    const again = await ask(hub().url, '/v1/credits/purchase', {
      ...order,
      headers: { 'payment-signature': payment },
    })
    expect(again.body).to.include({ code: 'payment_replayed' })
  })

  it('requires more confirmations the larger it is', () => {
    const waits = ['0.01', '99.99', '100', '9999', '10000'].map((text) =>
      requiredConfirmations(10n, usd(text)),
    )
    expect(waits).to.deep.equal([10n, 10n, 60n, 60n, 600n])
  })
})

describe('a payment of a call lost in a chain reorganization', () => {
  const hub = useHub()
  const rpc = (method: string, ...params: unknown[]) =>
    callRpc(hub().sandbox!.rpcUrl, method, params)

  it('is a loss of the platform', async () => {
    const wallet = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, wallet.address, { usdc: AMOUNT })
    const snapshot = await rpc('evm_snapshot')
    const order = { body: { words: 'lost' } }
    const lossBefore = await hub().hub.ledger.balance('expenses:x402-loss')
    const payment = await payFor(wallet, hub().url, await ask(hub().url, '/proxy/echo/say', order))
    const headers = { 'payment-signature': payment }
    const bought = await ask(hub().url, '/proxy/echo/say', { ...order, headers })
    expect(bought).to.have.property('status', 200)

    expect(await rpc('evm_revert', snapshot)).to.equal(true)
    await rpc('evm_increaseTime', 600)
    await rpc('evm_mine')
    const inTransit = () => hub().hub.ledger.balance('assets:usdc:base:in-transit')
    for (let tries = 0; tries < 100 && (await inTransit()) !== 0n; tries++) {
      await resolvePayments(hub().hub.paymentDeps, 0)
      await sleep(50)
    }
    expect(await inTransit()).to.equal(0n)
    const loss = await hub().hub.ledger.balance('expenses:x402-loss')
    expect(loss - lossBefore).to.equal(-100n)
  })
})
