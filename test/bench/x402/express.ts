import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import { maxPrice } from '../../../core/catalog/services/catalog.ts'
import { createPool } from '../../../core/db/pool.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { localFacilitator } from '../../../core/payments/facilitators/local.ts'
import type { AnyEndpoint } from '../../../core/plugin/index.ts'
import echo from '../../../plugins/echo/index.ts'
import { injectedHost } from '../../support/injected-host.ts'
import { HANDLER_CALL } from './handler-call.ts'

/**
 * Program: `@x402/express` peer, set up as in its documentation. It sells the handler of the echo
 * service at the same price and path, and settles with the facilitator of the hub's sandbox in its
 * own process, on the same chain and database, with its own wallets.
 */
const [rpcUrl, databaseUrl, key, payTo] = process.argv.slice(2) as [string, string, Hex, Hex]
const MAX_TIMEOUT_SECONDS = 90 // as offered by the hub
const { network } = USDC_BASE
const endpoint: AnyEndpoint = echo(injectedHost).endpoints['POST /say']
const JSON_TYPE = 'application/json'

const pool = createPool(databaseUrl, { max: 4, role: 'hub_app' })
const facilitator = localFacilitator({ rpcUrl, key, network, pool, pollMs: 50 })
const server = new x402ResourceServer(facilitator).register(network, new ExactEvmScheme())
const { address: asset, name, version } = USDC_BASE
const accepts = {
  scheme: 'exact',
  network,
  payTo,
  price: { amount: String(maxPrice(endpoint)), asset, extra: { name, version } },
  maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
}
const app = express()
app.use(
  paymentMiddleware(
    { 'POST /proxy/echo/say': { accepts, description: endpoint.summary, mimeType: JSON_TYPE } },
    server,
  ),
)
app.use(express.json())
app.post('/proxy/echo/say', (request, response, next) => {
  const answer = Promise.resolve(endpoint.handle({ ...HANDLER_CALL, input: request.body }))
  answer.then((body) => response.json(body), next)
})
const listening = app.listen(0, '127.0.0.1')
await once(listening, 'listening')
process.stdout.write(`ready at http://127.0.0.1:${(listening.address() as AddressInfo).port}\n`)
