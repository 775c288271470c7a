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

/** A signed payment of the agent's, and what it is to pay. */
export type Prepared = Awaited<ReturnType<typeof prepare>>

export async function prepare({ offers, wallets }: Stack) {
  const { required } = offers.offer(SALE)
  const payment = offers.read(await sign(wallets.agent.account, required))
  return [payment, offers.requirements(SALE)] as const
}

export const shop = ({ payTo }: Stack, facilitator: Facilitator) =>
  createOffers({ facilitator, payTo, network: NETWORK })

/** One that deals with each payment alone, by a transaction of its own. */
export const oneByOne = (facilitator: Facilitator): Facilitator => ({
  verify: (...args) => facilitator.verify(...args),
  settle: (...args) => facilitator.settle(...args),
  getSupported: () => facilitator.getSupported(),
})

/** A server on this machine, until `close`. */
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

/** What a node is asked, and what it would answer. */
interface Question {
  readonly method: string
  readonly params: readonly unknown[]
  /** Asks the node. */
  readonly pass: () => Promise<{ result?: unknown; error?: unknown }>
}

/**
 * A node that answers as the real one does, except where `cut` gives another answer, or `'none'`:
 * then the connection stays open without a word.
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
