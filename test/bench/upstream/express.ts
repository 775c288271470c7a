import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import { Agent, request as ask } from 'undici'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'

/**
 * Program: `@x402/express` peer that asks an HTTP facilitator, which accepts everything at once,
 * and then requests the API.
 */
const [upstream = '', facilitatorUrl = ''] = process.argv.slice(2)
const { network, address: asset, name, version } = USDC_BASE
const facilitator = new HTTPFacilitatorClient({ url: facilitatorUrl })
const server = new x402ResourceServer(facilitator).register(network, new ExactEvmScheme())
const accepts = {
  scheme: 'exact',
  network,
  payTo: '0x2222222222222222222222222222222222222222',
  price: { amount: '1000', asset, extra: { name, version } },
  maxTimeoutSeconds: 3_600,
}
const dispatcher = new Agent()
const app = express()
app.use(paymentMiddleware({ 'POST /proxy/bench/say': { accepts, description: 'Says.' } }, server))
app.use(express.json())
app.post('/proxy/bench/say', async (incoming, response) => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(incoming.body)
  const answer = await ask(`${upstream}/say`, { dispatcher, method: 'POST', headers, body })
  response.type('json').send(await answer.body.text())
})
const listening = app.listen(0, '127.0.0.1')
await once(listening, 'listening')
process.stdout.write(`ready at http://127.0.0.1:${(listening.address() as AddressInfo).port}\n`)
