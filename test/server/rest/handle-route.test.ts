import { expect } from 'chai'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { LedgerUnavailable } from '../../../core/ledger/retry.ts'
import { usd } from '../../../core/money.ts'
import { problem } from '../../../server/http/problem.ts'
import { handleRoute } from '../../../server/rest/handle-route.ts'
import { type AnyRoute, type RestRequest, route } from '../../../server/rest/route.ts'

type Spec = Partial<Pick<AnyRoute, 'price' | 'repeatable'>>
interface Case {
  readonly endpoint: `${AnyRoute['method']} /v1/x`
  readonly spec?: Spec
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly retryable: boolean
  readonly advice: RegExp
}

const NOTHING = /^Nothing was charged\. Try again later\.$/
const MAY_BE_MADE = /^The change may have been made/
const price = { min: usd('1'), max: usd('2') }
const CASES: Readonly<Record<string, Case>> = {
  'a read': { endpoint: 'GET /v1/x', retryable: true, advice: NOTHING },
  'a creation': { endpoint: 'POST /v1/x', retryable: false, advice: MAY_BE_MADE },
  'a replacement': { endpoint: 'PUT /v1/x', retryable: true, advice: NOTHING },
  'a change of members': { endpoint: 'PATCH /v1/x', retryable: true, advice: NOTHING },
  'a deletion': { endpoint: 'DELETE /v1/x', retryable: true, advice: NOTHING },
  'a search': {
    endpoint: 'POST /v1/x',
    spec: { repeatable: true },
    retryable: true,
    advice: NOTHING,
  },
  'a posting with its own key': {
    endpoint: 'POST /v1/x',
    spec: { repeatable: 'key' },
    body: { key: 'once' },
    retryable: true,
    advice: NOTHING,
  },
  'a posting without a key': {
    endpoint: 'POST /v1/x',
    spec: { repeatable: 'key' },
    body: {},
    retryable: false,
    advice: MAY_BE_MADE,
  },
  'an unpaid order': {
    endpoint: 'POST /v1/x',
    spec: { price },
    retryable: true,
    advice: /history/,
  },
  'a payment of x402 version 2': {
    endpoint: 'POST /v1/x',
    spec: { price },
    headers: { 'payment-signature': 'paid' },
    retryable: false,
    advice: /same payment/,
  },
  'a payment of x402 version 1': {
    endpoint: 'POST /v1/x',
    spec: { price },
    headers: { 'x-payment': 'paid' },
    retryable: false,
    advice: /same payment/,
  },
}
const FAILURES: readonly Error[] = [
  new Error('broken'),
  new LedgerUnavailable('the database is unreachable'),
  Object.assign(new Error('terminated'), { code: '57P01' }),
]

/** Returns the problem of a request whose handler fails. */
async function problemOf({ endpoint, spec, body, headers }: Case, error: Error) {
  const broken = route(endpoint, {
    summary: 'Fails.',
    auth: 'none',
    response: { status: 200, schema: z.unknown() },
    handle: () => Promise.reject(error),
    ...spec,
  })
  const request = { body, header: (name: string) => headers?.[name] }
  try {
    await handleRoute(broken, request as RestRequest<unknown, unknown>)
  } catch (fault) {
    return problem(fault as Fault, 'req_12345678', '/v1/x')
  }
  throw new Error('the handler did not fail')
}

describe('a request whose handler fails without telling the outcome', () => {
  for (const [name, each] of Object.entries(CASES)) {
    const title = each.retryable ? 'may be repeated' : 'is not repeated as a new request'
    it(`${title}: ${name}`, async () => {
      for (const error of FAILURES) {
        const { headers, body } = await problemOf(each, error)
        const { retryable, advice } = body as { retryable: boolean; advice: string }
        expect(retryable, error.message).to.equal(each.retryable)
        expect(advice, error.message).to.match(each.advice)
        expect(headers).to.have.property('X-Charged-Microdollars', '0')
      }
    })
  }

  it('keeps the outcome that a fault states', async () => {
    const fault = new Fault('insufficient_credits')
    const { body } = await problemOf(CASES['a creation']!, fault)
    expect(body).to.include({ code: 'insufficient_credits', advice: fault.message })
  })
})
