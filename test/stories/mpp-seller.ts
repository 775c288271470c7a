import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { evm, Mppx, Request as NodeRequest } from 'mppx/server'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'

/** Behavior of a seller after it has a valid payment. */
export type SellerAct = 'sell' | 'fail' | 'take-and-fail' | 'no-receipt'

export interface MppSeller {
  readonly port: number
  readonly requests: { readonly body: string; readonly authorization: string | undefined }[]
  act: SellerAct
  /** False to take MPP alone: the server of mppx offers x402 as well. */
  offersX402: boolean
  close(): Promise<void>
}

function withoutX402({ body, status, headers }: Response): Response {
  const kept = [...headers].filter(([name]) => name !== 'payment-required')
  return new Response(body, { status, headers: kept })
}

/** Starts a seller that takes MPP: the unmodified server of mppx, settling on a chain. */
export async function startMppSeller(
  facilitator: () => Facilitator,
  { recipient, amount }: { readonly recipient: Hex; readonly amount: string },
): Promise<MppSeller> {
  const { chainId, address: currency, name, version, decimals, network } = USDC_BASE
  const settle: NonNullable<Parameters<typeof evm.charge>[0]['settle']> = async ({ payload }) => {
    const { type: _, signature, ...authorization } = payload
    const requirement = {
      scheme: 'exact',
      network,
      amount: payload.value,
      asset: currency,
      payTo: recipient,
      maxTimeoutSeconds: 300,
      extra: { name, version },
    }
    const payment = {
      x402Version: 2,
      accepted: requirement,
      resource: { url: '', description: '', mimeType: '' },
      payload: { signature, authorization },
    }
    const settled = await facilitator().settle(payment, requirement)
    if (!settled.success) throw new Error(settled.errorReason)
    return { reference: settled.transaction }
  }
  const charge = evm.charge({
    chainId,
    currency,
    decimals,
    recipient,
    authorization: { name, version },
    settle,
  })
  const mppx = Mppx.create({ methods: [charge], secretKey: 'k'.repeat(32) })
  const requests: MppSeller['requests'] = []
  const seller = { act: 'sell' as SellerAct, offersX402: false }
  const serve = async (request: Request): Promise<Response> => {
    const body = await request.clone().text()
    const authorization = request.headers.get('authorization') ?? undefined
    requests.push({ body, authorization })
    if (authorization && seller.act === 'fail') return new Response('broken', { status: 500 })
    const paid = await mppx.charge({ amount })(request)
    if (paid.status === 402) return seller.offersX402 ? paid.challenge : withoutX402(paid.challenge)
    if (seller.act === 'take-and-fail') return new Response('broken', { status: 500 })
    const sold = Response.json({ sold: body })
    return seller.act === 'no-receipt' ? sold : paid.withReceipt(sold)
  }
  const server = createServer(NodeRequest.toNodeListener(serve))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(seller, {
    port: (server.address() as AddressInfo).port,
    requests,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
