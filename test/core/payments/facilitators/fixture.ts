import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { request } from 'undici'
import type { Facilitator } from '../../../../core/payments/facilitators/facilitator.ts'
import { createOffers } from '../../../../core/payments/receiving/offers.ts'
import { NETWORK, type Stack, sign } from '../stack.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
export const SALE = {
  amount: 3_000n,
  maxTimeoutSeconds: 60,
  resource: { url: 'https://hub.test/echo' },
}

/** A signed payment of the agent and its requirements. */
export type Prepared = Awaited<ReturnType<typeof prepare>>

export async function prepare({ offers, wallets }: Stack) {
  const { required } = offers.offer(SALE)
  const payment = offers.read(await sign(wallets.agent.account, required))
  return [payment, offers.requirements(SALE)] as const
}

export const shop = ({ payTo }: Stack, facilitator: Facilitator) =>
  createOffers({ facilitator, payTo, network: NETWORK })

/** Facilitator that settles each payment by its own transaction. */
export const oneByOne = (facilitator: Facilitator): Facilitator => ({
  verify: (...args) => facilitator.verify(...args),
  settle: (...args) => facilitator.settle(...args),
  getSupported: () => facilitator.getSupported(),
})

/** A local server. */
export interface Served {
  readonly url: string
  readonly close: () => void
}

export async function serve(
  handle: (body: string, res: ServerResponse, req: IncomingMessage) => unknown,
): Promise<Served> {
  const server = createServer((req, res) => {
    void text(req).then((body) => handle(body, res, req))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** A request to the node. */
interface Question {
  readonly method: string
  readonly params: readonly unknown[]
  /** Forwards the request to the node. */
  readonly pass: () => Promise<{ result?: unknown; error?: unknown }>
}

/**
 * Proxy of a node, except where `cut` returns another response, or `'none'` to leave the connection
 * open without a response.
 */
export const proxyNode = (rpcUrl: string, cut: (question: Question) => unknown): Promise<Served> =>
  serve(async (body, res) => {
    const { id, method, params = [] } = JSON.parse(body)
    const pass = async () => {
      const answer = await request(rpcUrl, { method: 'POST', body, headers: JSON_TYPE })
      return (await answer.body.json()) as { result?: unknown; error?: unknown }
    }
    const answer: unknown = (await cut({ method, params, pass })) ?? (await pass())
    if (answer === 'none') return
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ jsonrpc: '2.0', id, ...(answer as object) }))
  })
