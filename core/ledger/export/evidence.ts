import { cleanText } from '../../text.ts'
import type { JournalEntry } from '../entry.ts'
import type { Account } from '../events.ts'

/** Names of the facts that accounting formats carry as tags, metadata or columns, in order. */
export const EVIDENCE = [
  'author',
  'reason',
  'counterparty',
  'service',
  'transaction',
  'call',
  'payout',
  'value_date',
  'price',
  'price_source',
] as const
type EvidenceName = (typeof EVIDENCE)[number]

/** Facts about an entry, as one line of text each. */
export type Evidence = Readonly<Partial<Record<EvidenceName, string>>>

/** Facts that only other tables know: the call of a payment, and the seller of an external call. */
export interface CallFacts {
  readonly call?: string | undefined
  readonly seller?: string | undefined
}

/** Characters of a fact, at most. */
const FACT_MAX = 2_000

/** Collects the evidence for an entry. @param accounts codes of the accounts that it touches */
export function evidenceOf(
  row: JournalEntry,
  accounts: readonly Account[],
  { call, seller }: CallFacts = {},
): Evidence {
  const meta = (row.meta === null ? {} : JSON.parse(row.meta)) as Readonly<Record<string, unknown>>
  const { provider, service, key } = partiesOf(accounts)
  const facts: Record<EvidenceName, unknown> = {
    author: meta['author'],
    reason: meta['reason'],
    counterparty: meta['payer'] ?? seller ?? meta['provider'] ?? provider ?? key,
    service,
    transaction: meta['transaction'] ?? meta['tx'],
    call: row.phase > 0 ? row.id : call,
    payout: meta['payout'],
    value_date: meta['value_date'],
    price: meta['price'],
    price_source: meta['price_source'],
  }
  const evidence: Partial<Record<EvidenceName, string>> = {}
  for (const name of EVIDENCE) {
    const fact = facts[name]
    if (typeof fact === 'string' && fact !== '') evidence[name] = cleanText(fact, FACT_MAX)
  }
  return evidence
}

/** Provider, service and key in the codes of accounts. */
function partiesOf(accounts: readonly Account[]) {
  const partsOf = (...prefixes: readonly string[]): readonly string[] | undefined =>
    accounts.find((code) => prefixes.some((prefix) => code.startsWith(prefix)))?.split(':')
  const earnings = partsOf('liabilities:providers:', 'income:services:')
  const isProvider = earnings?.[0] === 'liabilities'
  return {
    provider: isProvider ? earnings[2] : undefined,
    service: isProvider ? earnings[3] : earnings?.[2],
    key: partsOf('liabilities:agents:')?.[2],
  }
}
