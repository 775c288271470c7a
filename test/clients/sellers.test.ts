import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/facilitator'
import { expect } from 'chai'
import { createWalletClient, http, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { usd } from '../../core/money.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { freePort } from '../../core/runtime/net.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type Served, serve } from '../core/payments/facilitators/fixture.ts'
import { eventually } from '../support/eventually.ts'
import { useHub } from '../support/suite.ts'
import { installed, withClient } from './installed.ts'
import { runModule } from './run-client.ts'

const PRICE = usd('0.005')
const HOST = 'version-1.test'

/** Sells as the documentation of x402-express shows, to a hub that it asks to buy. */
const SELLER = `
  import express from 'express'
  import { paymentMiddleware } from 'x402-express'
  const { PAY_TO, FACILITATOR, PORT, HUB, KEY, ORDER } = process.env
  const app = express()
  const routes = { 'GET /goods': { price: '$0.005', network: 'base' } }
  app.use(paymentMiddleware(PAY_TO, routes, { url: FACILITATOR }))
  app.get('/goods', (_, response) => response.json({ sold: 'goods' }))
  await new Promise((resolve) => app.listen(Number(PORT), '127.0.0.1', resolve))
  const response = await fetch(HUB + '/proxy/external', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + KEY, 'content-type': 'application/json' },
    body: ORDER,
  })
  const charged = response.headers.get('x-charged-microdollars')
  console.log(response.status, await response.text(), charged)
  process.exit()`

/** Starts a facilitator service of version 1 that pays gas from a wallet of its own. */
async function startFacilitator(rpcUrl: () => string): Promise<Served> {
  const account = privateKeyToAccount(generatePrivateKey())
  const open = () => {
    const transport = http(rpcUrl())
    const options = { account, chain: base, transport, pollingInterval: 25 }
    const wallet = createWalletClient(options).extend(publicActions)
    const signer = toFacilitatorEvmSigner({ ...wallet, address: account.address } as never)
    return new ExactEvmSchemeV1(signer)
  }
  return serve(async (text, response, { url }) => {
    await fund(rpcUrl(), account.address, { wei: 10n ** 18n })
    const { paymentPayload: payload, paymentRequirements: terms } = JSON.parse(text) as {
      paymentPayload: PaymentPayload
      paymentRequirements: PaymentRequirements
    }
    const scheme = open()
    const isSettled = url === '/settle'
    const result = await (isSettled ? scheme.settle(payload, terms) : scheme.verify(payload, terms))
    response.setHeader('content-type', 'application/json').end(JSON.stringify(result))
  })
}

const describeClients = installed === undefined ? describe.skip : describe

describeClients('sellers of others', function () {
  this.timeout(1_200_000)
  const payTo = privateKeyToAccount(generatePrivateKey()).address
  let facilitator: Served
  let port: number
  const hub = useHub(async () => {
    facilitator = await startFacilitator(() => hub().sandbox!.rpcUrl)
    port = await freePort()
    return { config: { sandboxHosts: new Map([[HOST, port]]) } }
  })
  after(() => facilitator.close())

  withClient('x402-express', 'x402-express 1.x is paid its price, once', async () => {
    const agent = await hub().agent()
    await hub().credit(agent.keyId, usd('1'))
    const out = await runModule(SELLER, {
      PAY_TO: payTo,
      FACILITATOR: facilitator.url,
      PORT: String(port),
      HUB: hub().url,
      KEY: agent.apiKey,
      ORDER: JSON.stringify({ url: `http://${HOST}/goods`, method: 'GET' }),
    })
    expect(out).to.equal(`200 {"sold":"goods"} ${PRICE}\n`)
    expect(usd('1') - (await hub().balance(agent.keyId))).to.equal(PRICE)
    const { paymentDeps } = hub().hub
    expect(await paymentDeps.chain.balanceOf(payTo)).to.equal(PRICE)
    await eventually(async () => (await resolvePayments(paymentDeps, 0)) === 0)
    const { rows } = await hub().hub.pool.query('SELECT state, amount FROM hub.payment_intent')
    expect(rows).to.deep.equal([{ state: 'confirmed', amount: PRICE }])
  })
})
