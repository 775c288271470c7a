import { SettleError, VerifyError } from '@x402/core/types'
import { z } from 'zod'
import { type Facilitator, FacilitatorUnavailable, NOT_BROADCAST } from './facilitator.ts'
import {
  type Exchange,
  FacilitatorUnreachable,
  type HttpFacilitatorOptions,
  openExchange,
} from './http-exchange.ts'

export type { AuthHeaders, HttpFacilitatorOptions } from './http-exchange.ts'

/** Of a reason or a message; the rest is cut off. */
const TEXT_MAX = 500
const text = z.string().max(500)
const optionalText = z
  .string()
  .transform((value) => value.slice(0, TEXT_MAX))
  .exactOptional()
const network = text.transform((value) => value as `${string}:${string}`)

const VerifyBody = z.object({
  isValid: z.boolean(),
  invalidReason: optionalText,
  invalidMessage: optionalText,
  payer: optionalText,
})

const SettleBody = z.object({
  success: z.boolean(),
  errorReason: optionalText,
  errorMessage: optionalText,
  payer: optionalText,
  transaction: text,
  network,
  amount: optionalText,
})

const SupportedBody = z.object({
  kinds: z.array(
    z.object({
      x402Version: z.number(),
      scheme: text,
      network,
      extra: z.record(z.string(), z.unknown()).exactOptional(),
    }),
  ),
  extensions: z.array(text).default([]),
  signers: z.record(z.string(), z.array(text)).default({}),
})

const PENDING = 'settlement_pending'

/**
 * A facilitator that somebody else runs (CDP, PayAI, x402.org …). No redirect is followed: a signed
 * payment is shown to the configured host alone. An answer that is too large, too late, malformed
 * or of a server in trouble is no answer.
 *
 * A `settle` that throws says nothing: the payment may have been made. It answers `not_broadcast`
 * only when the service could not even be connected to.
 * @throws TypeError for a URL that is neither https nor on this machine: payments are not shown
 *   to the network.
 */
export function httpFacilitator(options: HttpFacilitatorOptions): Facilitator {
  const exchange = openExchange(options)
  const sent = new WeakSet<object>()
  return {
    async verify(payload, requirements) {
      const body = requestBody(payload, requirements)
      const { status, answer } = await query(exchange, 'verify', VerifyBody, body)
      if (isSuccess(status)) return answer
      throw new VerifyError(status, answer)
    },
    async settle(payload, requirements) {
      const { network } = requirements
      const isNew = !sent.has(payload) // a resource server sends a pending one twice
      sent.add(payload)
      const body = requestBody(payload, requirements)
      try {
        const { status, answer } = await query(exchange, 'settle', SettleBody, body)
        if (answer.network !== network) {
          throw new FacilitatorUnavailable(`The facilitator answered for ${answer.network}.`)
        }
        if (answer.errorReason === NOT_BROADCAST) {
          throw new FacilitatorUnavailable('That nothing was sent is our own word, not its.')
        }
        if (isSuccess(status)) return answer
        throw new SettleError(status, answer)
      } catch (error) {
        if (!(error instanceof FacilitatorUnreachable && isNew)) throw error
        sent.delete(payload)
        const { message: errorMessage } = error
        const nothing = { errorReason: NOT_BROADCAST, errorMessage, transaction: '' }
        return { success: false, network, ...nothing }
      }
    },
    async getSupported() {
      const { status, answer } = await query(exchange, 'supported', SupportedBody)
      if (isSuccess(status)) return answer
      throw new FacilitatorUnavailable(`The facilitator answered ${status}.`)
    },
  }
}

type Operation = Parameters<Exchange>[0]

/** @throws FacilitatorUnavailable for whatever is not an answer to the question */
async function query<T>(
  exchange: Exchange,
  operation: Operation,
  schema: z.ZodType<T>,
  body?: string,
): Promise<{ readonly status: number; readonly answer: T }> {
  const { status, text: json } = await exchange(operation, body)
  const parsed = schema.safeParse(parseJson(json))
  const isTrouble = status >= 500 && !isPending(parsed.data)
  if (isTrouble) throw new FacilitatorUnavailable(`The facilitator answered ${status}.`)
  if (parsed.success) return { status, answer: parsed.data }
  throw new FacilitatorUnavailable(
    `The facilitator gave a malformed answer to "${operation}" (status ${status}).`,
  )
}

const isPending = (answer: unknown): boolean =>
  typeof answer === 'object' &&
  answer !== null &&
  'errorReason' in answer &&
  answer.errorReason === PENDING

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** Some write null for what is not there. */
function parseJson(json: string): unknown {
  try {
    return JSON.parse(json, (_, value: unknown) => value ?? undefined)
  } catch {
    return undefined
  }
}

function requestBody(...[payload, requirements]: Parameters<Facilitator['settle']>): string {
  const { x402Version } = payload
  return JSON.stringify({ x402Version, paymentPayload: payload, paymentRequirements: requirements })
}
