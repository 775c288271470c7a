import { first } from '../../conservation/mutants.ts'
import type { RecoveryFacts } from './collect.ts'
import { type Attempt, type ClientLog, finalAnswer, type LoggedRequest } from './request-log.ts'

/** Log and facts of a run. */
export interface Evidence {
  readonly log: ClientLog
  readonly facts: RecoveryFacts
}

interface Planted {
  readonly plant: (evidence: Evidence) => Evidence
  /** Pattern of the expected finding. */
  readonly finds: RegExp
}

const isServed = (request: LoggedRequest): boolean => finalAnswer(request)?.status === 200

const request =
  (
    matches: (request: LoggedRequest) => boolean,
    change: (request: LoggedRequest, log: ClientLog) => LoggedRequest,
  ) =>
  ({ log, facts }: Evidence): Evidence => {
    const requests = first(log.requests, matches, (one) => [change(one, log)])
    return { log: { ...log, requests }, facts }
  }

/** Changes the last attempt of a request. */
const answer = (
  matches: (request: LoggedRequest) => boolean,
  change: (attempt: Attempt) => Partial<Attempt>,
) =>
  request(matches, (one) => {
    const last = one.attempts.at(-1)!
    return { ...one, attempts: [...one.attempts.slice(0, -1), { ...last, ...change(last) }] }
  })

const facts =
  (change: (facts: RecoveryFacts) => Partial<RecoveryFacts>) =>
  ({ log, facts: all }: Evidence): Evidence => ({ log, facts: { ...all, ...change(all) } })

const isCredits = (one: LoggedRequest): boolean =>
  one.kind === 'credits' && one.idempotencyKey !== undefined && isServed(one)
const isX402 = (one: LoggedRequest): boolean => one.kind === 'x402' && isServed(one)
const isSubKey = (one: LoggedRequest): boolean => one.kind === 'sub-key' && isServed(one)

const problem = (code: string, body: Attempt['body'] = {}) => ({
  body: { code, charged_microdollars: 0, advice: 'Nothing was charged.', retryable: true, ...body },
})

const withHeader = ({ headers }: Attempt, name: string, value: string) => ({
  headers: { ...headers, [name]: value },
})

/** Adds an attempt from before the first fault. */
const calmAttempt = (attempt: Partial<Attempt>) =>
  request(isCredits, (one, { faults }) => {
    const at = faults[0]!.begunAt - 60_000
    return { ...one, attempts: [{ sentAt: at, endedAt: at, ...attempt }, ...one.attempts] }
  })

const idOf = ({ attempts }: LoggedRequest): string => attempts.at(-1)!.headers!['x-call-id']!

/** Charges the call of a request differently in the journal. */
const entryOf =
  (matches: (request: LoggedRequest) => boolean, more: bigint) =>
  ({ log, facts: all }: Evidence): Evidence => {
    const call = idOf(log.requests.find(matches)!)
    const entries = first(
      all.database.entries,
      ({ id, event }) => id === call && event === 'call.settled',
      (one) => [{ ...one, amount: one.amount + more }],
    )
    return { log, facts: { ...all, database: { ...all.database, entries } } }
  }

/** Violations of what clients are told, each of which the checker must report. */
export const PLANTED_VIOLATIONS: Readonly<Record<string, Planted>> = {
  'a request without a final answer': {
    plant: request(isCredits, (one) => ({
      ...one,
      attempts: [{ sentAt: 0, error: 'ECONNRESET' }],
    })),
    finds: /has no final answer/,
  },
  'a payment that was served and never made': {
    plant: ({ log, facts: all }) => {
      const { nonce } = log.requests.find(isX402)!.payment!
      const transfers = all.transfers.filter((transfer) => transfer.nonce !== nonce)
      return { log, facts: { ...all, transfers } }
    },
    finds: /was served, and not paid/,
  },
  'a payment that was made and refused': {
    plant: answer(isX402, () => ({ status: 402, ...problem('payment_invalid') })),
    finds: /paid by 0x\w+, and its final answer is 402/,
  },
  'another transaction than that of the payment': {
    plant: answer(isX402, (attempt) => {
      const other = Buffer.from(JSON.stringify({ transaction: '0x00' })).toString('base64')
      return withHeader(attempt, 'payment-response', other)
    }),
    finds: /^transaction that x402/m,
  },
  'two charges for one Idempotency-Key': {
    plant: request(isCredits, (one, { requests }) => {
      const other = requests.find((each) => isCredits(each) && each.id !== one.id)!
      return { ...one, attempts: [other.attempts.at(-1)!, ...one.attempts] }
    }),
    finds: /was charged for 2 calls/,
  },
  'a charge without a receipt': {
    plant: answer(isCredits, ({ headers = {} }) => {
      const { 'x-receipt': _, ...rest } = headers
      return { headers: rest }
    }),
    finds: /without a receipt/,
  },
  'a treasury of the second network that has less': {
    plant: facts(({ chainBalances }) => {
      const [[network, balance]] = [...chainBalances.further!] as [[string, bigint]]
      return { chainBalances: { ...chainBalances, further: new Map([[network, balance - 1n]]) } }
    }),
    finds: /^change of the treasury on polygon/m,
  },
  'free units that were not counted': {
    plant: entryOf((one) => one.kind === 'free units' && isServed(one), -1n),
    finds: /^free quota charged for/m,
  },
  'a payment that waits for the chain of another network': {
    plant: (evidence) => {
      const isOther = ({ name }: { readonly name: string }) =>
        name === 'SIGSTOP of the second chain'
      const faults = evidence.log.faults.filter(isOther)
      const planted = request(isX402, (one) => {
        const at = faults[0]!.backAt
        const attempt = { sentAt: at, endedAt: at, status: 503, ...problem('chain_unavailable') }
        return { ...one, id: 'planted', attempts: [attempt, ...one.attempts] }
      })
      return planted({ ...evidence, log: { ...evidence.log, faults } })
    },
    finds: /^unexplained 503 chain_unavailable of x402 request planted/m,
  },
  'a call that was delivered for nothing': {
    plant: entryOf(isCredits, -1_000n),
    finds: /succeeded without a charge/,
  },
  'a charge after the answer that nothing was charged': {
    plant: answer(isCredits, ({ headers }) => ({
      status: 502,
      headers: { ...headers, 'x-charged-microdollars': '0' },
      ...problem('plugin_failed'),
    })),
    finds: /"Nothing was charged.", but \S+ cost 1000/,
  },
  'a problem whose body and header disagree': {
    plant: answer(isCredits, () => ({ status: 502, ...problem('plugin_failed') })),
    finds: /charge in body and header/,
  },
  'advice to pay again for what the seller took': {
    plant: answer(isCredits, () => ({
      status: 502,
      ...problem('upstream_error', { payment: { state: 'taken' } }),
    })),
    finds: /taken and retryable/,
  },
  'a refusal that does not say when to try again': {
    plant: calmAttempt({ status: 503, ...problem('service_unavailable') }),
    finds: /no Retry-After/,
  },
  'a failure without a fault': {
    plant: calmAttempt({ status: 503, ...problem('service_unavailable') }),
    finds: /^unexplained 503 service_unavailable/m,
  },
  'an internal error': {
    plant: calmAttempt({ status: 500, ...problem('internal_error') }),
    finds: /^unexplained 500 internal_error/m,
  },
  'a connection lost without a fault': {
    plant: calmAttempt({ error: 'ECONNRESET' }),
    finds: /^unexplained lost/m,
  },
  'a receipt that was changed': {
    plant: answer(isCredits, (attempt) => {
      const [head, payload = '', ...rest] = attempt.headers!['x-receipt']!.split('.')
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
      const text = JSON.stringify({ ...claims, charged_microdollars: 999 })
      const changed = Buffer.from(text).toString('base64url')
      return withHeader(attempt, 'x-receipt', [head, changed, ...rest].join('.'))
    }),
    finds: /^receipt \S+ of credits .* is not signed by the hub/m,
  },
  'a receipt for another charge than that of the journal': {
    plant: entryOf(isCredits, 1n),
    finds: /^charge of receipt/m,
  },
  'a call that the API shows with another charge': {
    plant: facts(({ calls }) => {
      const [id, view] = [...calls].find(([, { source }]) => source === 'credits')!
      return { calls: new Map([...calls, [id, { ...view, charged_microdollars: 1 }]]) }
    }),
    finds: /^charge of call/m,
  },
  'a call that the API still shows as held': {
    plant: facts(({ calls }) => {
      const [id, view] = [...calls].find(([, { source }]) => source === 'credits')!
      return { calls: new Map([...calls, [id, { ...view, state: 'held' }]]) }
    }),
    finds: /is still held/,
  },
  'a charge that is missing in the history': {
    plant: facts(({ histories }) => {
      const [key, rows] = [...histories].find(([, each]) => each.some(isSettled))!
      return { histories: new Map([...histories, [key, rows.filter((row) => !isSettled(row))]]) }
    }),
    finds: /is not in the history[\s\S]*|^history and balance/m,
  },
  'a sub-key that spent more than its limit': {
    plant: entryOf(isSubKey, 30_000n),
    finds: /^sub-key \S+ spent/m,
  },
  'a sub-key that was refused before its limit': {
    plant: ({ log, facts: all }) => {
      const { subKeyId } = log.requests.find(isSubKey)!
      const [one, two, ...rest] = log.requests.filter((each) => each.subKeyId === subKeyId)
      const last = { ...two!.attempts.at(-1)!, status: 403 }
      const dropped = new Set(rest)
      const requests = log.requests.flatMap((each) =>
        each === two ? [{ ...two, attempts: [last] }] : dropped.has(each) ? [] : [each],
      )
      return { log: { ...log, requests: one ? requests : [] }, facts: all }
    },
    finds: /^sub-key \S+ was refused/m,
  },
  'a mail that never arrived': {
    plant: facts(() => ({ mailedTo: new Set() })),
    finds: /no mail arrived/,
  },
}

const isSettled = (row: Readonly<Record<string, unknown>>): boolean =>
  row['event'] === 'call.settled'
