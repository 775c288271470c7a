import { createServer, type ServerResponse } from 'node:http'
import { evm, Mppx, Request as NodeRequest } from 'mppx/server'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import { closeServer, listenOnLoopback } from '../support/loopback.ts'
import { chargeOptions } from '../support/settle-charge.ts'

/** Behavior of a seller after it has a valid payment. */
export type SellerAct = 'sell' | 'hang' | 'fail' | 'take-and-fail' | 'no-receipt' | 'forge-receipt'

export interface MppSeller {
  readonly port: number
  readonly requests: { readonly body: string; readonly authorization: string | undefined }[]
  act: SellerAct
  /** False to take MPP alone: the server of mppx offers x402 as well. */
  offersX402: boolean
  /** True to send the same challenge again. */
  repeats: boolean
  /** Answers requests that bring a payment, in place of `act`. */
  onPaid?: ((response: ServerResponse) => unknown) | undefined
  close(): Promise<void>
}

/** Response whose receipt names a transaction that does not exist. */
function forged(body: string): Response {
  const receipt = { method: 'evm', status: 'success', reference: `0x${'1'.repeat(64)}` }
  const header = Buffer.from(JSON.stringify(receipt)).toString('base64url')
  return Response.json({ sold: body }, { headers: { 'payment-receipt': header } })
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
  const charge = evm.charge(chargeOptions(facilitator, recipient))
  const mppx = Mppx.create({ methods: [charge], secretKey: 'k'.repeat(32) })
  const requests: MppSeller['requests'] = []
  const seller: Pick<MppSeller, 'act' | 'offersX402' | 'repeats' | 'onPaid'> = {
    act: 'sell',
    offersX402: false,
    repeats: false,
  }
  let first: Response | undefined
  /** The challenge of a response without payment: a new one, or always the first. */
  const challenge = (response: Response): Response => {
    const offered = seller.offersX402 ? response : withoutX402(response)
    if (!seller.repeats) return offered
    first ??= offered
    return first.clone()
  }
  const serve = async (request: Request): Promise<Response> => {
    const body = await request.clone().text()
    const authorization = request.headers.get('authorization') ?? undefined
    requests.push({ body, authorization })
    if (authorization && seller.act === 'hang') await new Promise(() => undefined)
    if (authorization && seller.act === 'fail') return new Response('broken', { status: 500 })
    if (authorization && seller.act === 'forge-receipt') return forged(body)
    const paid = await mppx.charge({ amount })(request)
    if (paid.status === 402) return challenge(paid.challenge)
    if (seller.act === 'take-and-fail') return new Response('broken', { status: 500 })
    const sold = Response.json({ sold: body })
    return seller.act === 'no-receipt' ? sold : paid.withReceipt(sold)
  }
  const serveHttp = NodeRequest.toNodeListener(serve)
  const server = createServer((request, response) => {
    const { authorization } = request.headers
    if (!seller.onPaid || !authorization?.startsWith('Payment ')) serveHttp(request, response)
    else {
      requests.push({ body: '', authorization })
      seller.onPaid(response)
    }
  })
  const port = await listenOnLoopback(server)
  return Object.assign(seller, {
    port,
    requests,
    close: async () => {
      await closeServer(server)
    },
  })
}
