import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { evm, Mppx, Request as NodeRequest } from 'mppx/server'
import { maxPrice } from '../../../core/catalog/services/catalog.ts'
import { createPool } from '../../../core/db/pool.ts'
import { decimal } from '../../../core/money.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { localFacilitator } from '../../../core/payments/facilitators/local.ts'
import type { AnyEndpoint } from '../../../core/plugin/index.ts'
import echo from '../../../plugins/echo/index.ts'
import { injectedHost } from '../../support/injected-host.ts'
import { chargeOptions } from '../../support/settle-charge.ts'
import { HANDLER_CALL } from './handler-call.ts'

/**
 * Program: `mppx/server` peer, set up as in its documentation. It sells the handler of the echo
 * service at the same price, and settles as the `@x402/express` peer does.
 */
const [rpcUrl, databaseUrl, key, payTo] = process.argv.slice(2) as [string, string, Hex, Hex]
const endpoint: AnyEndpoint = echo(injectedHost).endpoints['POST /say']
const pool = createPool(databaseUrl, { max: 4, role: 'hub_app' })
const { network } = USDC_BASE
const facilitator = localFacilitator({ rpcUrl, key, network, pool, pollMs: 50 })
const method = evm.charge(chargeOptions(() => facilitator, payTo))
const mppx = Mppx.create({ methods: [method], secretKey: 'of-the-benchmark-and-nobody-else' })
const charge = mppx.charge({ amount: decimal(maxPrice(endpoint)) })

async function sell(request: Request): Promise<Response> {
  const input = request.clone()
  const paid = await charge(request)
  if (paid.status === 402) return paid.challenge
  const body = await endpoint.handle({ ...HANDLER_CALL, input: await input.json() })
  return paid.withReceipt(Response.json(body))
}

const server = createServer(NodeRequest.toNodeListener(sell)).listen(0, '127.0.0.1')
await once(server, 'listening')
process.stdout.write(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
