import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Facilitator } from '../../../core/payments/facilitators/facilitator.ts'
import { listenOnLoopback } from '../../support/loopback.ts'

export interface Served {
  readonly port: number
  close(): void
}

type Respond = (request: IncomingMessage, body: never) => unknown

async function serveJson(respond: Respond): Promise<Served> {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = request.method === 'POST' ? await json(request) : undefined
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(await respond(request, body as never)))
  }
  const server: Server = createServer((request, response) => {
    handle(request, response).catch(() => response.writeHead(500).end('{}'))
  })
  const port = await listenOnLoopback(server)
  return {
    port,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Embeddings engine for which all texts mean the same. */
export const serveEmbeddings = (): Promise<Served> =>
  serveJson((_, { input }: { readonly input: readonly string[] }) => ({
    data: input.map((_text, index) => ({ index, embedding: [1, 0] })),
  }))

/** Index without listings. */
export const serveIndex = (): Promise<Served> =>
  serveJson(() => ({ items: [], pagination: { limit: 500, offset: 0, total: 0 } }))

type Payment = Parameters<Facilitator['settle']>

/** HTTP service of a facilitator. */
export const serveFacilitator = (facilitator: Facilitator): Promise<Served> =>
  serveJson(
    (
      { url = '' },
      order: { paymentPayload: Payment[0]; paymentRequirements: Payment[1] } | undefined,
    ) => {
      if (!order) return facilitator.getSupported()
      const { paymentPayload: payload, paymentRequirements: requirements } = order
      return url.endsWith('/verify')
        ? facilitator.verify(payload, requirements)
        : facilitator.settle(payload, requirements)
    },
  )
