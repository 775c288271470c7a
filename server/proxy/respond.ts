import { createHash } from 'node:crypto'
import { Readable, Transform } from 'node:stream'
import { deprecationHeaders } from '../../core/deprecation.ts'
import type { Receipts } from '../../core/usage/receipts.ts'
import { viewOf } from '../exchange.ts'
import type { Made, Reply } from './call.ts'
import { nameOf, type Record } from './record.ts'

/** Names of headers that a handler may not set: they are the hub's own, or belong to the hop. */
const OURS = new RegExp(
  `^(?:${[
    'x-(?:request-id|call-id|receipt|charged-.*|balance-.*|payment-.*|refund-.*|ratelimit.*)',
    'payment-.*|ratelimit.*|access-control-.*|etag|set-cookie|date|server',
    'connection|keep-alive|transfer-encoding|content-length|trailer|upgrade',
  ].join('|')})$`,
  'i',
)

/**
 * The answer of a call that was made, with what it cost, what is left, and a receipt. What a
 * stream came to is known at its end only: its receipt lies at `/v1/calls/{id}`.
 */
export const createRespond =
  (record: Record, receipts: Pick<Receipts, 'sign'>) =>
  (made: Made): Reply => {
    const { outcome, offer } = made
    if (outcome.body instanceof Readable) {
      const body = hashed(outcome.body, (hash) => record.made(made, hash))
      return { status: outcome.status, headers: headersOf(made), body }
    }
    const body = bytesOf(outcome)
    const kept = record.made(made, createHash('sha256').update(body).digest())
    const receipt = receipts.sign(kept, nameOf(offer.offering))
    return {
      status: outcome.status,
      headers: { ...headersOf(made), 'X-Receipt': receipt },
      body,
    }
  }

function headersOf({ offer, outcome, receipt, rate }: Made): Reply['headers'] {
  const own = Object.entries(outcome.headers).filter(([name]) => !OURS.test(name))
  return {
    ...Object.fromEntries(own),
    ...rate.headers,
    ...receipt.headers,
    ...deprecationHeaders(offer.offering.service.deprecated),
    'Cache-Control': 'no-store',
    'X-Call-Id': offer.call,
    'X-Charged-Microdollars': String(receipt.charged),
    'X-Payment-Source': receipt.source,
    ...(receipt.balance === undefined ? {} : { 'X-Balance-Microdollars': String(receipt.balance) }),
    ...(outcome.kind === 'failed' ? { 'X-Refund-Reason': outcome.reason } : {}),
  }
}

/** Statuses whose answer has no body (RFC 9110 §6.4.1). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** Exactly what is sent. */
function bytesOf({ status, body }: Pick<Reply, 'status' | 'body'>): Buffer {
  if (BODILESS.has(status)) return Buffer.alloc(0)
  return body instanceof Uint8Array ? viewOf(body) : Buffer.from(JSON.stringify(body ?? null))
}

/**
 * The same stream, and its hash when it is over; null where it was broken off. What came before a
 * failure is passed on before the failure is.
 */
function hashed(source: Readable, done: (hash: Buffer | null) => void): Readable {
  const hash = createHash('sha256')
  let failure: Error | null = null
  const through = new Transform({
    transform(chunk: Buffer, _, next) {
      hash.update(chunk)
      next(null, chunk)
    },
    flush: (next) => next(failure),
  })
  source.once('error', (error) => {
    failure = error
    through.end()
  })
  source.once('close', () => {
    if (source.readableEnded || failure) return
    failure = new Error('the stream was closed before its end')
    through.end()
  })
  through.once('close', () => {
    source.destroy()
    done(through.readableEnded ? hash.digest() : null)
  })
  return source.pipe(through)
}
