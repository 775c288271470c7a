import type { Made, Reply } from './call.ts'
import type { Record } from './record.ts'

/** Names of headers that a handler may not set: they are the hub's own, or belong to the hop. */
const OURS = new RegExp(
  `^(?:${[
    'x-(?:request-id|call-id|receipt|charged-.*|balance-.*|payment-.*|ratelimit.*)',
    'payment-.*|ratelimit.*|set-cookie|date|server',
    'connection|keep-alive|transfer-encoding|content-length|trailer|upgrade',
  ].join('|')})$`,
  'i',
)

/** The answer of a call that was made, with what it cost and what is left. */
export const createRespond =
  (record: Record) =>
  (made: Made): Reply => {
    record.made(made)
    const { offer, outcome, receipt, rate } = made
    const own = Object.entries(outcome.headers).filter(([name]) => !OURS.test(name))
    return {
      status: outcome.status,
      headers: {
        ...Object.fromEntries(own),
        ...rate.headers,
        ...receipt.headers,
        'Cache-Control': 'no-store',
        'X-Call-Id': offer.call,
        'X-Charged-Microdollars': String(receipt.charged),
        'X-Payment-Source': receipt.source,
        ...(receipt.balance === undefined
          ? {}
          : { 'X-Balance-Microdollars': String(receipt.balance) }),
      },
      body: outcome.body,
    }
  }
