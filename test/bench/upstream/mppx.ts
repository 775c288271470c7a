import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Method, Receipt, z } from 'mppx'
import { Proxy, Service } from 'mppx/proxy'
import { Mppx } from 'mppx/server'

/** Program: `mppx/proxy` peer with a payment method that accepts every payment. */
const [upstream = ''] = process.argv.slice(2)
const charge = Method.from({
  name: 'stub',
  intent: 'charge',
  schema: {
    credential: { payload: z.object({ paid: z.boolean() }) },
    request: z.object({ amount: z.string(), currency: z.string(), recipient: z.string() }),
  },
})
const stub = Method.toServer(charge, {
  verify: async () =>
    Receipt.from({
      method: 'stub',
      reference: 'paid',
      status: 'success',
      timestamp: '2026-11-21T12:00:00Z',
    }),
})
const mppx = Mppx.create({
  methods: [stub],
  secretKey: 'of-the-benchmark-and-nobody-else',
  realm: 'bench',
})
const paid = mppx.charge({ amount: '1000', currency: 'usd', recipient: 'acme' })
const service = Service.from('bench', { baseUrl: upstream, routes: { 'POST /say': paid } })
const proxy = Proxy.create({ basePath: '/proxy', services: [service] })
const server = createServer(proxy.listener).listen(0, '127.0.0.1')
await once(server, 'listening')
process.stdout.write(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
