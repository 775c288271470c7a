import { sleep } from '../../core/clock.ts'
import { usd } from '../../core/money.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import type { TestHub } from '../support/hub.ts'
import type { Actor, Result, Scene, Verb } from './table.ts'

const TRIES = 80
const PAUSE_MS = 150

/** Target of an x402 payment: a purchase of credits, or a call. */
interface Order {
  readonly path: string
  readonly body: unknown
}

const orderOf = (text: string): Order => {
  const [what = '', amount = ''] = text.split(' ')
  if (what === 'credits') {
    return { path: '/v1/credits/purchase', body: { amount_microdollars: Number(usd(amount)) } }
  }
  const body = what === 'echo/say' ? { words: amount || 'hello' } : {}
  return { path: `/proxy/${what}`, body }
}

const resultOf = ({ status, headers, body }: ApiResponse): Result => {
  const code = body['code'] ?? body['state'] ?? headers['x-payment-source']
  return typeof code === 'string' ? { status, code } : { status }
}

/** Remembers the payments of a story, so that they can be sent again. */
export function paying(): Readonly<Record<string, Verb>> {
  const signatures = new Map<string, string>()
  const send = async (scene: Scene, { apiKey }: Actor, order: Order, signature: string) => {
    const headers = { 'payment-signature': signature }
    return resultOf(
      await ask(scene.hub.url, order.path, { body: order.body, key: apiKey, headers }),
    )
  }
  const sign = async (scene: Scene, name: string, order: Order): Promise<string> => {
    const { account, apiKey } = scene.actor(name)
    const offered = await ask(scene.hub.url, order.path, { body: order.body, key: apiKey })
    return payFor(account, scene.hub.url, offered)
  }

  /** `sends bob for echo/say ∥2`: sends the payment that bob signed for this. */
  const sends: Verb = async (scene, who, rest) => {
    const [, signer = '', what = '', parallel] = /^(\w+) for (.*?)(?: ∥(\d+))?$/.exec(rest) ?? []
    const once = () => send(scene, scene.actor(who), orderOf(what), signatures.get(signer)!)
    return Promise.all(Array.from({ length: Number(parallel ?? 1) }, once))
  }
  return {
    /** `signs for credits 5.000000`, `signs for echo/say`: signs a payment without sending it. */
    signs: async (scene, who, rest) => {
      signatures.set(who, await sign(scene, who, orderOf(rest.replace('for ', ''))))
      return []
    },
    sends,
    /**
     * Sends as above and reports only the refused (402): those that arrive while the first is being
     * verified get 409, and their number is random.
     */
    floods: async (scene, who, rest) => {
      const came = await sends(scene, who, rest)
      return came.map(({ status }) => ({ status: status === 409 ? 402 : status }))
    },
    /** Corrupts the signature of the signed payment. */
    spoils: async (_, who) => {
      const text = Buffer.from(signatures.get(who)!, 'base64').toString()
      const value = /"signature":"0x(..)/.exec(text)![1]!
      const other = value === '11' ? '22' : '11'
      const spoilt = text.replace(`"signature":"0x${value}`, `"signature":"0x${other}`)
      signatures.set(who, Buffer.from(spoilt).toString('base64'))
      return []
    },
    resolves,
  }
}

/** `hub resolves payments`: resolves until nothing is open, except `but 1`. */
export const resolves: Verb = async ({ hub }, _, rest) => {
  await untilResolved(hub, Number(/but (\d+)/.exec(rest)?.[1] ?? 0))
  return []
}

async function untilResolved({ hub }: TestHub, left: number): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    await resolvePayments(hub.paymentDeps, 0)
    const { rows } = await hub.pool.query<{ open: number }>(
      `SELECT (SELECT count(*) FROM hub.payment_claim
           WHERE state IN ('claimed', 'pending', 'settled'))
         ::integer + (SELECT count(*) FROM hub.payment_intent
           WHERE state IN ('signed', 'unresolved', 'paid'))::integer AS open`,
    )
    if (rows[0]!.open === left) return
    await sleep(PAUSE_MS)
  }
  throw new Error('payments are still open')
}
