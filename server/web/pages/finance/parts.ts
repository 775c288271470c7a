import { z } from 'zod'
import { decimalsOf, formatUnits } from '../../../../core/ledger/export/format.ts'
import type { EntryJson } from '../../../rest/finance/journal.ts'
import type { fieldsOf } from '../../form.ts'
import { grouped } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { address, bookTable } from '../../table.ts'

/** An amount in units of its asset, as people read it: `1,234.500000`. */
export const units = (amount: number | bigint, asset: string): string =>
  grouped(formatUnits(BigInt(amount), decimalsOf(asset)))

/** An amount that is credit-positive, on the side that it stands on; nothing on the other one. */
export const debit = (amount: number, asset: string): string | false =>
  amount < 0 && units(-amount, asset)
export const credit = (amount: number, asset: string): string | false =>
  amount > 0 && units(amount, asset)

/** What an account holds, with the side that it stands on: `24.993600 Cr`. */
export const sided = (amount: number, asset: string): string =>
  amount === 0
    ? units(amount, asset)
    : `${units(Math.abs(amount), asset)} ${amount < 0 ? 'Dr' : 'Cr'}`

export const accountPath = (account: string): string =>
  `/finance/accounts/${encodeURIComponent(account)}`

/** Where the accounts are that begin so. */
export const balancePath = (prefix: string): string =>
  `/finance/trial-balance?prefix=${encodeURIComponent(prefix)}`

/**
 * An account breaks where its names end, if it has to.
 * @param to the last day of the statement that it leads to
 */
export const accountLink = (account: string, to?: string): Html =>
  html`<a href="${address(accountPath(account), { to })}"><code class="unbroken">${account
    .split(/(?<=:)/)
    .map((name, i) => html`${i > 0 && BREAK}${name}`)}</code></a>`

const BREAK = html`<wbr>`

export const entryPath = (id: string): string => `/finance/entries/${id}`

/** Why: of every form that decides something. */
export const reasonField = (fields: ReturnType<typeof fieldsOf>): Html =>
  fields.text({
    name: 'reason',
    label: 'Reason',
    hint: 'It stands in the audit log, for ever.',
    max: 500,
    required: true,
  })

export const reason = z.string().trim().min(1, 'say why').max(500)

/** A UTC day of a form or a filter; undefined: none. */
export const optionalDay = z
  .union([z.iso.date(), z.literal('')])
  .default('')
  .transform((text) => text || undefined)

/** `2026-11-21 12:03:09` of an instant to the microsecond. */
export const precise = (at: string): string => at.slice(0, 19).replace('T', ' ')

type Posting = EntryJson['postings'][number]

const sum = (postings: readonly Posting[]): number =>
  postings.reduce((total, { amount }) => total + amount, 0)

/** Both sides of an entry, for each of its assets. */
const totals = (postings: readonly Posting[]) =>
  [...Map.groupBy(postings, ({ asset }) => asset)].map(([asset, all]) => [
    'Total',
    units(-sum(all.filter(({ amount }) => amount < 0)), asset),
    units(sum(all.filter(({ amount }) => amount > 0)), asset),
    asset,
  ])

/** The postings of one entry. */
export const postingTable = ({ event, postings }: EntryJson): Html =>
  bookTable(
    `Postings of ${event}`,
    [
      { head: 'Account', cell: ({ account }) => accountLink(account) },
      { head: 'Debit', number: true, cell: ({ amount, asset }) => debit(amount, asset) },
      { head: 'Credit', number: true, cell: ({ amount, asset }) => credit(amount, asset) },
      { head: 'Asset', cell: ({ asset }) => asset },
    ],
    postings,
    totals(postings),
  )
