import { SettleError, VerifyError } from '@x402/core/types'
import { z } from 'zod'
import { isJsonObject, tryParseJson } from '../../json.ts'
import { type Facilitator, FacilitatorUnavailable, NOT_BROADCAST } from './facilitator.ts'
import {
  type Exchange,
  FacilitatorUnreachable,
  type HttpFacilitatorOptions,
  openExchange,
} from './http-exchange.ts'

export type { AuthHeaders, HttpFacilitatorOptions } from './http-exchange.ts'

/** Maximum length of a reason or message; longer ones are truncated. */
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
 * Facilitator run by a third party (CDP, PayAI, x402.org …). Follows no redirects, so only the
 * configured host sees a signed payment. Treats responses that are too large, too late, malformed
 * or server errors as no response.
 *
 * If `settle` throws, the payment may have been made. It returns `not_broadcast` only if it could
 * not connect to the service.
 * @throws TypeError for a URL that is neither https nor loopback, which would expose payments
 */
export function httpFacilitator(options: HttpFacilitatorOptions): Facilitator {
  const exchange = openExchange(options)
  const sent = new WeakSet<object>()
  return {
    async verify(payload, requirements) {
      const body = requestBody(payload, requirements)
      const { status, response } = await query(exchange, 'verify', VerifyBody, body)
      if (isSuccess(status)) return response
      throw new VerifyError(status, response)
    },
    async settle(payload, requirements) {
      const { network } = requirements
      const isNew = !sent.has(payload) // a resource server sends a pending one twice
      sent.add(payload)
      const body = requestBody(payload, requirements)
      try {
        const { status, response } = await query(exchange, 'settle', SettleBody, body)
        if (response.network !== network) {
          throw new FacilitatorUnavailable(`The facilitator responded for ${response.network}.`)
        }
        if (response.errorReason === NOT_BROADCAST) {
          throw new FacilitatorUnavailable('The facilitator used a reason reserved for this hub.')
        }
        if (isSuccess(status)) return response
        throw new SettleError(status, response)
      } catch (error) {
        if (!(error instanceof FacilitatorUnreachable && isNew)) throw error
        sent.delete(payload)
        const { message: errorMessage } = error
        const nothing = { errorReason: NOT_BROADCAST, errorMessage, transaction: '' }
        return { success: false, network, ...nothing }
      }
    },
    async getSupported() {
      const { status, response } = await query(exchange, 'supported', SupportedBody)
      if (isSuccess(status)) return response
      throw new FacilitatorUnavailable(`The facilitator returned status ${status}.`)
    },
  }
}

type Operation = Parameters<Exchange>[0]

/** @throws FacilitatorUnavailable if the response does not fit the operation */
async function query<T>(
  exchange: Exchange,
  operation: Operation,
  schema: z.ZodType<T>,
  body?: string,
): Promise<{ readonly status: number; readonly response: T }> {
  const { status, text: json } = await exchange(operation, body)
  const parsed = schema.safeParse(parseJson(json))
  const isServerError = status >= 500 && !isPending(parsed.data)
  if (isServerError) throw new FacilitatorUnavailable(`The facilitator returned status ${status}.`)
  if (parsed.success) return { status, response: parsed.data }
  throw new FacilitatorUnavailable(
    `The facilitator returned a malformed response to "${operation}" (status ${status}).`,
  )
}

const isPending = (response: unknown): boolean =>
  isJsonObject(response) && response['errorReason'] === PENDING

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** Drops members that are null, which some facilitators send for absent values. */
const parseJson = (json: string): unknown => tryParseJson(json, (_, value) => value ?? undefined)

function requestBody(...[payload, requirements]: Parameters<Facilitator['settle']>): string {
  const { x402Version } = payload
  return JSON.stringify({ x402Version, paymentPayload: payload, paymentRequirements: requirements })
}
