import { json } from '../../money.ts'
import { type DocumentTable, ledgerRange, type Tax } from './document.ts'
import { type DocumentSource, type SourceLine, taxOfPlatform } from './source.ts'
import type {
  CreditBalance,
  CreditChange,
  EntrySums,
  StatementFigures,
} from './statement-figures.ts'

const PASSED_ON = 'Paid to the seller on your behalf'

/**
 * Tax of a call: none if an external seller receives the price. One invoice cannot have lines in
 * and outside the scope of VAT (EN 16931, BR-O-11).
 */
export const taxOfCall = (service: string | null): SourceLine['taxFor'] =>
  service === 'external' ? taxPassedOn : taxOfPlatform

const taxPassedOn = ({ category }: Tax): Tax => ({
  category: category === 'O' ? 'O' : 'E',
  rate_bps: 0,
  reason: PASSED_ON,
})

/** Builds the parts of a monthly statement: charged calls by service, refunds, and balances. */
export function statementContent({
  charges,
  changes,
  balances,
  sales,
}: StatementFigures): Pick<DocumentSource, 'lines' | 'tables' | 'notes'> {
  const [sold, returned] = (['call.sold', 'sale.reversed'] as const).map((name) =>
    sales.filter(({ event }) => event === name),
  ) as [EntrySums[], EntrySums[]]
  const refunded = changes.filter(({ event }) => REFUNDS.has(event))
  return {
    lines: [
      ...linesOf(charges, 'calls paid with credits'),
      ...linesOf(sold, 'calls paid per request'),
      ...linesOf(refunded, 'refunds to credits', -1n),
      ...linesOf(returned, 'refunds to the wallet', -1n),
    ],
    tables: balances.map((balance) =>
      creditsTable(
        balance,
        changes.filter(({ key }) => key === balance.key),
      ),
    ),
    notes: [
      'Calls and refunds count in the month in which they were made, also refunds of earlier ' +
        'calls. Receipts of single calls of the month are included.',
      'One USDC is stated as one USD.',
    ],
  }
}

const REFUNDS: ReadonlySet<string> = new Set(['call.reversed', 'external.refunded'])

/** Merges figures of several keys and shards into one line per service. */
function linesOf(
  figures: readonly EntrySums[],
  text: string,
  sign: 1n | -1n = 1n,
): readonly SourceLine[] {
  const groups = Map.groupBy(figures, ({ provider, service }) =>
    [service, provider && `of ${provider}`].filter(Boolean).join(' '),
  )
  return [...groups].map(([name, some]) => {
    return {
      description: `${name}: ${text}`,
      quantity: json(sign * some.reduce((sum, { entries }) => sum + entries, 0n)),
      ledger: some.map(({ shard, firstSeq, lastSeq }) => ledgerRange(shard, firstSeq, lastSeq)),
      gross: sign * some.reduce((sum, { amount }) => sum + amount, 0n),
      taxFor: taxOfCall(some[0]!.service),
    }
  })
}

const CALLS = 'Calls, and reserved for calls in flight'
/** Names of changes of credits by ledger event. */
const CHANGES: Readonly<Record<string, string>> = {
  'call.reserved': CALLS,
  'call.settled': CALLS,
  'call.released': CALLS,
  'call.expired': CALLS,
  'credits.purchased': 'Purchases',
  'credits.granted': 'Free credits',
  'credits.transferred': 'Transfers',
  'credits.lapsed': 'Expired credits',
  'call.reversed': 'Refunds of calls',
  'external.refunded': 'Refunds of calls that sellers did not collect',
  'receipt.vanished': 'Purchases undone by the blockchain',
  'deposit.identified': 'Deposits',
  'balance.adjusted': 'Corrections',
}

/** Name of a change of credits; unchanged if it has none, or is a name already. */
export const changeName = (event: string): string => CHANGES[event] ?? event

/** Opening balance of a key, changes by event, and closing balance. */
const creditsTable = (
  { key, opening, closing }: CreditBalance,
  changes: readonly CreditChange[],
): DocumentTable => ({
  title: `Credits of ${key}`,
  rows: [
    { name: 'Opening balance', amount_microdollars: json(opening) },
    ...[...Map.groupBy(changes, ({ event }) => changeName(event))].map(([name, some]) => ({
      name,
      amount_microdollars: json(some.reduce((sum, { amount }) => sum + amount, 0n)),
    })),
    { name: 'Closing balance', amount_microdollars: json(closing) },
  ],
})
