import { groupBy, netCharges } from '../../conservation/checker-helpers.ts'
import type { RecoveryFacts } from './collect.ts'
import type { Attempt, ClientLog, LoggedRequest } from './request-log.ts'

/** Outcome of the money, from the journal and the chain. */
export interface Truth {
  /** Net charge by call id. */
  readonly net: ReadonlyMap<string, bigint>
  /** Hashes of transactions by nonce of the authorization that they used. */
  readonly used: ReadonlyMap<string, string>
  /** Number of sales by nonce. */
  readonly sales: ReadonlyMap<string, number>
  /** Calls that were charged first, and refunded later. */
  readonly refunded: ReadonlySet<string>
}

export function readTruth(facts: RecoveryFacts): Truth {
  const charges = [...netCharges(facts)].map(
    ([key, amount]) => [key.split(' ')[1]!, amount] as const,
  )
  const sold = facts.database.entries.filter(({ event }) => SALES.includes(event))
  const refunds = facts.database.entries.filter(({ event }) => REFUNDS.includes(event))
  const byNonce = groupBy(sold, ({ nonce }) => nonce ?? '')
  return {
    net: new Map(charges),
    used: new Map(facts.transfers.map(({ nonce, tx }) => [nonce ?? '', tx])),
    sales: new Map([...byNonce].map(([nonce, entries]) => [nonce, entries.length])),
    refunded: new Set(refunds.map(({ id }) => id)),
  }
}

const SALES = ['credits.purchased', 'call.sold']
const REFUNDS = ['external.refunded', 'call.reversed']

/** Rule of the checker. Returns one line per violation. */
export type Rule = (log: ClientLog, facts: RecoveryFacts, truth: Truth) => string[]

export const titleOf = ({ kind, client, id }: LoggedRequest): string =>
  `${kind} request ${id} of ${client}`
/** Returns a header or trailer of an answer. */
export const headerOf = (attempt: Attempt, header: string): string | undefined =>
  attempt.headers?.[header]
export const chargedIn = (attempt: Attempt): bigint =>
  BigInt(headerOf(attempt, 'x-charged-microdollars') ?? 0)
