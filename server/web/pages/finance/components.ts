import { z } from 'zod'
import { parseReportPeriod } from '../../../../core/finance/report-period.ts'
import { decimalsOf, formatUnits } from '../../../../core/ledger/export/units.ts'
import type { EntryJson } from '../../../rest/finance/journal.ts'
import type { formFields } from '../../form.ts'
import { groupThousands } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { ledgerTable, WORD_BREAK, withQuery } from '../../table.ts'

/** Formats an amount in units of its asset, with all decimals: `1,234.500000`. */
export const formatAmount = (amount: number | bigint, asset: string): string =>
  groupThousands(formatUnits(BigInt(amount), decimalsOf(asset)))

/** Amount for the debit or the credit column, given credit-positive; false in the other one. */
export const debit = (amount: number, asset: string): string | false =>
  amount < 0 && formatAmount(-amount, asset)
export const credit = (amount: number, asset: string): string | false =>
  amount > 0 && formatAmount(amount, asset)

/** Balance with its side: `24.993600 Cr`. */
export const formatBalance = (amount: number, asset: string): string =>
  amount === 0
    ? formatAmount(amount, asset)
    : `${formatAmount(Math.abs(amount), asset)} ${amount < 0 ? 'Dr' : 'Cr'}`

export const accountPath = (account: string): string =>
  `/finance/accounts/${encodeURIComponent(account)}`

/** Trial balance of the accounts with a prefix. */
export const balancePath = (prefix: string): string =>
  `/finance/trial-balance?prefix=${encodeURIComponent(prefix)}`

/** Link to an account's statement. @param to last day of the statement */
export const accountLink = (account: string, to?: string): Html =>
  html`<a href="${withQuery(accountPath(account), { to })}"><code class="soft-breaks">${account
    .split(/(?<=:)/)
    .map((name, i) => html`${i > 0 && WORD_BREAK}${name}`)}</code></a>`

/** Link to the members of a group of accounts, named without the colon that ends its prefix. */
export const groupLink = (prefix: string, href: string): Html =>
  html`<a href="${href}"><code>${prefix.slice(0, -1)}</code></a>`

export const entryPath = (id: string): string => `/finance/entries/${id}`

/** Reason for the audit log, required by every form that decides something. */
export const reasonField = (fields: ReturnType<typeof formFields>): Html =>
  fields.text({
    name: 'reason',
    label: 'Reason',
    hint: 'Recorded permanently in the audit log.',
    max: 500,
    required: true,
  })

export const reason = z.string().trim().min(1, 'enter a reason').max(500)

/** Month, quarter or year of a report; '' if empty. */
export const optionalPeriod = z
  .string()
  .trim()
  .max(7)
  .refine((name) => name === '' || parseReportPeriod(name), 'enter 2026-11, 2026-Q4 or 2026')
  .default('')

/** `2026-11-21 12:03:09` of an ISO 8601 timestamp with microseconds. */
export const formatSeconds = (at: string): string => at.slice(0, 19).replace('T', ' ')

type Posting = EntryJson['postings'][number]

const sumPostings = (postings: readonly Posting[]): number =>
  postings.reduce((total, { amount }) => total + amount, 0)

/** Total rows of an entry: debits and credits per asset. */
const totalRows = (postings: readonly Posting[]) =>
  [...Map.groupBy(postings, ({ asset }) => asset)].map(([asset, all]) => [
    'Total',
    formatAmount(-sumPostings(all.filter(({ amount }) => amount < 0)), asset),
    formatAmount(sumPostings(all.filter(({ amount }) => amount > 0)), asset),
    asset,
  ])

export const postingTable = ({ event, postings }: EntryJson): Html =>
  ledgerTable(
    `Postings of ${event}`,
    [
      { head: 'Account', cell: ({ account }) => accountLink(account) },
      { head: 'Debit', number: true, cell: ({ amount, asset }) => debit(amount, asset) },
      { head: 'Credit', number: true, cell: ({ amount, asset }) => credit(amount, asset) },
      { head: 'Asset', cell: ({ asset }) => asset },
    ],
    postings,
    totalRows(postings),
  )
