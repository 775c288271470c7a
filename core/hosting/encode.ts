import { Readable } from 'node:stream'
import {
  type AnyEndpoint,
  type AnyService,
  Failure,
  Refusal,
  Reply,
  Taken,
  Unresolved,
} from '../plugin/index.ts'
import { DETAIL_MAX } from './limits.ts'
import type { DeclaredService, HandlerResult, ThrownError } from './wire.ts'

/** Encodes a plugin's declaration, results and errors as messages to the hub. */

export function describeService(service: AnyService): DeclaredService {
  const {
    slug,
    name,
    category,
    summary,
    provider,
    freeCallsPerMonth,
    freeUnitsPerMonth,
    deprecated,
  } = service
  const endpoints = Object.entries(service.endpoints).map(([route, endpoint]) => [
    route,
    describeEndpoint(endpoint as AnyEndpoint),
  ])
  const schedules = Object.entries(service.schedules ?? {}).map(
    ([job, { everySeconds, deadlineSeconds }]) => [
      job,
      { everySeconds, ...(deadlineSeconds !== undefined && { deadlineSeconds }) },
    ],
  )
  return {
    slug,
    name,
    category,
    summary,
    provider,
    ...(freeCallsPerMonth !== undefined && { freeCallsPerMonth }),
    ...(freeUnitsPerMonth && { freeUnitsPerMonth: { ...freeUnitsPerMonth } }),
    ...(deprecated && { deprecated: { ...deprecated } }),
    endpoints: Object.fromEntries(endpoints),
    schedules: Object.fromEntries(schedules),
    hasIsListed: service.isListed !== undefined,
  }
}

function describeEndpoint(endpoint: AnyEndpoint): DeclaredService['endpoints'][string] {
  const { summary, price, input, output, query, headers, deadlineSeconds } = endpoint
  const { styles, form, streams, prepaid } = endpoint
  return {
    summary,
    price: describePrice(price),
    input: input.json,
    ...(output && { output: output.json }),
    ...(query && { query: [...query] }),
    ...(styles && { styles }),
    ...(form && { form }),
    ...(headers && { headers: [...headers] }),
    ...(deadlineSeconds !== undefined && { deadlineSeconds }),
    ...(streams !== undefined && { streams }),
    ...(prepaid !== undefined && { prepaid }),
  }
}

function describePrice(price: AnyEndpoint['price']): DeclaredService['endpoints'][string]['price'] {
  if (typeof price === 'bigint') return { fixed: String(price) }
  if (price.unit === undefined) {
    return { max: String(price.max), ...(price.min !== undefined && { min: String(price.min) }) }
  }
  const { max, unit, of } = price
  return { max: String(max), unit, amount: String(of.amount), per: String(of.per) }
}

/** Encodes the result of a handler; a streamed body is returned separately. */
export function encodeResult(answer: unknown): {
  readonly answer: HandlerResult
  readonly stream?: Readable
} {
  if (answer instanceof Unresolved || answer instanceof Taken)
    return { answer: { kind: 'presumed' } }
  if (!(answer instanceof Reply)) return { answer: { kind: 'value', value: answer ?? null } }
  const { status, headers, body, isCharged } = answer
  const texts = Object.entries(headers).map(([name, value]) => [name, safeString(value)])
  const sent = Number.isInteger(status) ? status : 0 // the hub refuses 0
  const own = { status: sent, headers: Object.fromEntries(texts) }
  const reply = { kind: 'reply', ...own, ...(isCharged && { isCharged: true }) } as const
  if (body instanceof Readable) {
    return { answer: { ...reply, body: { kind: 'stream' } }, stream: body }
  }
  if (body instanceof Uint8Array) {
    const base64 = Buffer.from(body).toString('base64')
    return { answer: { ...reply, body: { kind: 'bytes', base64 } } }
  }
  return { answer: { ...reply, body: { kind: 'json', value: body ?? null } } }
}

export const messageText = (error: unknown): string =>
  encodeError(error).detail.slice(0, DETAIL_MAX)

/** Encodes a thrown value, which may be anything. */
export function encodeError(error: unknown): ThrownError {
  if (error instanceof Refusal) {
    const { status, code, message, extras } = error
    return { kind: 'refusal', status, code, detail: message, extras: { ...extras } }
  }
  if (error instanceof Failure) {
    const { status, code, message, extras, retryAfterSeconds: after } = error
    const late = after !== undefined && { after }
    return { kind: 'failure', status, code, detail: message, extras: { ...extras }, ...late }
  }
  if (!(error instanceof Error)) return { kind: 'error', detail: `threw ${safeString(error)}` }
  const { message, stack } = error
  return { kind: 'error', detail: message, ...(stack !== undefined && { stack }) }
}

/** Converts any value to text without throwing. */
export function safeString(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'a value without a text'
  }
}
