import { checkConservation } from '../../conservation/checker.ts'
import { groupBy, mismatch, sum } from '../../conservation/checker-helpers.ts'
import type { RecoveryFacts } from './collect.ts'
import { checkExplanations } from './explanations.ts'
import { tokensOf } from './metered-usage.ts'
import { checkReceipts } from './receipt-checks.ts'
import {
  type Attempt,
  type ClientLog,
  codeOf,
  finalAnswer,
  isRepeatable,
  type LoggedRequest,
} from './request-log.ts'
import { chargedIn, headerOf, type Rule, readTruth, type Truth, titleOf } from './truth.ts'

/**
 * Compares what clients were told with the journal, the balances, the API and the chain. Returns
 * one line per violation. Pure; knows prices and rules only from what clients can know.
 */
export function checkRecovery(log: ClientLog, facts: RecoveryFacts): string[] {
  const truth = readTruth(facts)
  const rules = [
    checkFinalAnswers,
    checkPayments,
    checkNames,
    checkFreeCalls,
    checkStatements,
    checkReceipts,
    checkViews,
    checkCaps,
    checkMails,
  ]
  return [
    ...checkConservation(facts),
    ...rules.flatMap((rule) => rule(log, facts, truth)),
    ...checkExplanations(log),
  ]
}

/** Every request that may be repeated has a final answer. */
const checkFinalAnswers: Rule = ({ requests }) =>
  requests
    .filter((request) => isRepeatable(request) && !finalAnswer(request))
    .map((request) => {
      const last = request.attempts.at(-1)
      return `${titleOf(request)} has no final answer: ${last ? codeOf(last) : 'not sent'}`
    })

/** A payment that was answered with success is one sale and one transfer, and names it. */
const checkPayments: Rule = ({ requests }, _, { used, sales }) =>
  requests.flatMap((request) => {
    const { payment } = request
    const final = finalAnswer(request)
    if (!payment || !final) return []
    const transaction = used.get(payment.nonce)
    const title = titleOf(request)
    if (final.status !== 200 && final.status !== 201) {
      return transaction === undefined
        ? []
        : [`${title} paid by ${transaction}, and its final answer is ${codeOf(final)}`]
    }
    if (transaction === undefined) return [`${title} was served, and not paid`]
    return [
      ...mismatch(`sales for ${title}`, sales.get(payment.nonce), 1),
      ...mismatch(`transaction that ${title} was told`, transactionIn(final), transaction),
    ]
  })

function transactionIn(answer: Attempt): unknown {
  const receipt = headerOf(answer, 'payment-receipt')
  if (receipt !== undefined) {
    const { reference } = JSON.parse(Buffer.from(receipt, 'base64url').toString())
    return reference
  }
  const header = headerOf(answer, 'payment-response')
  if (header === undefined) return answer.body?.['transaction']
  return (JSON.parse(Buffer.from(header, 'base64').toString()) as { transaction: string })
    .transaction
}

/** All attempts of one Idempotency-Key were charged at most once, and the charge was reported. */
const checkNames: Rule = ({ requests }, _, { net }) => {
  const named = requests.filter(({ idempotencyKey }) => idempotencyKey !== undefined)
  return named.flatMap((request) => {
    const ids = new Set(request.attempts.flatMap(callIdsIn))
    const charged = [...ids].filter((id) => (net.get(id) ?? 0n) > 0n)
    const [call = ''] = charged
    const final = finalAnswer(request)
    const isSilent = final && final.status! < 400 && charged.length === 0
    return [
      ...(charged.length > 1
        ? [`${titleOf(request)} was charged for ${charged.length} calls: ${charged.join(', ')}`]
        : []),
      ...(isSilent && isPaidKind(request)
        ? [`${titleOf(request)} succeeded without a charge`]
        : []),
      ...(final && charged.length === 1 && headerOf(final, 'x-receipt') === undefined
        ? [`${titleOf(request)} was charged for ${call} without a receipt: ${codeOf(final)}`]
        : []),
    ]
  })
}

/** Each call that was answered as free took one free call of the quota, or the units it used. */
const checkFreeCalls: Rule = ({ requests }, _, { net }) =>
  requests.flatMap((request) =>
    request.attempts
      .filter(
        (attempt) => headerOf(attempt, 'x-payment-source') === 'free' && attempt.status === 200,
      )
      .flatMap((attempt) => {
        const call = headerOf(attempt, 'x-call-id') ?? ''
        const quantity = request.kind === 'free' ? 1n : BigInt(tokensOf(Number(request.body['n'])))
        return mismatch(`free quota charged for ${call}`, net.get(call) ?? 0n, quantity)
      }),
  )

const UNPAID_KINDS = new Set(['free', 'free units', 'external'])
const isPaidKind = ({ kind }: LoggedRequest): boolean => !UNPAID_KINDS.has(kind)

const callIdsIn = (attempt: Attempt): string[] =>
  [headerOf(attempt, 'x-call-id'), attempt.body?.['call_id']].filter((id) => typeof id === 'string')

const NOTHING = /nothing was (?:paid|charged|done)|not charged/i

/** Problems are true about money, in `charged_microdollars`, `advice` and `retryable`. */
const checkStatements: Rule = ({ requests }, _, truth) =>
  requests.flatMap((request) => {
    const final = finalAnswer(request) ?? request.attempts.at(-1)
    return request.attempts.flatMap((attempt) => {
      const { body, status } = attempt
      if (status === undefined || body?.['code'] === undefined) return []
      const title = `${titleOf(request)} was told ${codeOf(attempt)}`
      return [
        ...checkMembers(title, attempt),
        ...(attempt === final || !request.payment
          ? checkOutcome(title, request, attempt, truth)
          : []),
      ]
    })
  })

/** The members and headers of one problem agree with each other. */
function checkMembers(title: string, attempt: Attempt): string[] {
  const { body = {}, status, headers = {} } = attempt
  const { state } = (body['payment'] ?? {}) as { readonly state?: unknown }
  const charged = BigInt((body['charged_microdollars'] ?? 0) as number)
  const advice = String(body['advice'])
  const isOpen = state === 'taken' || state === 'unresolved' || state === 'paid'
  const mayRepeat = (status === 503 || status === 409) && body['retryable'] === true
  return [
    ...mismatch(`${title}: charge in body and header`, charged, chargedIn(attempt)),
    ...(isOpen && body['retryable'] === true ? [`${title}: ${state} and retryable`] : []),
    ...((isOpen || charged > 0n) && NOTHING.test(advice)
      ? [`${title}: charged ${charged}, ${String(state)}, and "${advice}"`]
      : []),
    ...(mayRepeat && headers['retry-after'] === undefined ? [`${title}: no Retry-After`] : []),
  ]
}

/** The money went where the problem says. */
function checkOutcome(
  title: string,
  { payment }: LoggedRequest,
  attempt: Attempt,
  { net, used }: Truth,
): string[] {
  const { body = {} } = attempt
  const { state } = (body['payment'] ?? {}) as { readonly state?: unknown }
  const call = headerOf(attempt, 'x-call-id') ?? ''
  const charged = net.get(call) ?? 0n
  const transaction = payment && used.get(payment.nonce)
  const isUncharged = NOTHING.test(String(body['advice'])) || body['retryable'] === true
  const isCharged = charged > 0n || transaction !== undefined
  const isKept = state === 'kept'
  return isUncharged && isCharged && !isKept && body['code'] !== 'payment_in_progress'
    ? [`${title}: "${String(body['advice'])}", but ${transaction ?? `${call} cost ${charged}`}`]
    : []
}

/** The API tells the owner of a key what the journal says about its calls and its balance. */
const checkViews: Rule = (_, { calls, histories, keyBalances, database }, { net }) => {
  const settled = database.entries.filter(({ event }) => event === 'call.settled')
  const settledIds = new Set(settled.map(({ id }) => id))
  return [
    ...[...calls].flatMap(([id, view]) => {
      if (view['status'] === 404 && view['code'] === 'not_found')
        return settledIds.has(id) ? [`unknown call ${id} was charged ${net.get(id)}`] : []
      const { source, state, charged_microdollars: charged } = view
      if (source === 'x402') return []
      const expected = source === 'free' ? 0n : (net.get(id) ?? 0n)
      return [
        ...mismatch(`charge of call ${id}`, BigInt(String(charged)), expected),
        ...(state === 'held' ? [`call ${id} is still held`] : []),
      ]
    }),
    ...keyBalances.flatMap(({ keyId, balance }) => {
      const changes = histories.get(keyId) ?? []
      const total = sum(changes.map((row) => BigInt(String(row['change_microdollars']))))
      return mismatch(`history and balance of ${keyId}`, total, balance)
    }),
    ...settled
      .filter(({ id, owner }) => {
        const rows = histories.get(owner.split(':')[2] ?? '')
        const isListed = rows?.some((row) => row['id'] === id && row['event'] === 'call.settled')
        return rows && owner.endsWith(':credits') && !isListed
      })
      .map(({ id }) => `call ${id} was charged and is not in the history`),
  ]
}

const CAP = 30_000n
const PRICE = 1_000n

/** A sub-key spent no more than its limit, and was refused only when it was used up. */
const checkCaps: Rule = ({ requests }, _, { net }) => {
  const bySubKey = groupBy(
    requests.filter(({ subKeyId }) => subKeyId !== undefined),
    ({ subKeyId }) => subKeyId!,
  )
  return [...bySubKey].flatMap(([subKey, all]) => {
    const ids = new Set(all.flatMap(({ attempts }) => attempts.flatMap(callIdsIn)))
    const spent = sum([...ids].map((id) => net.get(id) ?? 0n))
    const losses = all.flatMap(({ attempts }) => attempts).filter(({ status }) => status !== 200)
    const isRefused = all.some((request) => finalAnswer(request)?.status === 403)
    const left = CAP - spent - PRICE * BigInt(losses.length)
    return [
      ...(spent > CAP ? [`sub-key ${subKey} spent ${spent} of ${CAP}`] : []),
      ...(isRefused && left >= PRICE ? [`sub-key ${subKey} was refused with ${left} left`] : []),
    ]
  })
}

/** A sign-in that was accepted is mailed. */
const checkMails: Rule = ({ requests }, { mailedTo }) =>
  requests
    .filter(({ kind, attempts }) => kind === 'sign-in' && attempts.at(-1)?.status === 202)
    .filter(({ body }) => !mailedTo.has(String(body['email'])))
    .map((request) => `${titleOf(request)} was accepted, and no mail arrived`)
