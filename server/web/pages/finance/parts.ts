import { z } from 'zod'
import { decimalsOf, formatUnits } from '../../../../core/ledger/export/format.ts'
import type { EntryJson } from '../../../rest/finance-journal.ts'
import type { fieldsOf } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { table } from '../../table.ts'

/** An amount in units of its asset, as people read it: `1,234.500000`. */
export function units(amount: number | bigint, asset: string): string {
  const [whole = '', ...rest] = formatUnits(BigInt(amount), decimalsOf(asset)).split('.')
  return [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','), ...rest].join('.')
}

/** An amount that is credit-positive, on the side that it stands on; nothing on the other one. */
export const debit = (amount: number, asset: string): string | false =>
  amount < 0 && units(-amount, asset)
export const credit = (amount: number, asset: string): string | false =>
  amount > 0 && units(amount, asset)

export const accountPath = (account: string): string =>
  `/finance/accounts/${encodeURIComponent(account)}`

export const accountLink = (account: string): Html =>
  html`<a href="${accountPath(account)}"><code>${account}</code></a>`

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

/** The postings of one entry. */
export const postingTable = ({ event, postings }: EntryJson): Html =>
  table(
    `Postings of ${event}`,
    [
      { head: 'Account', cell: ({ account }) => accountLink(account) },
      { head: 'Debit', number: true, cell: ({ amount, asset }) => debit(amount, asset) },
      { head: 'Credit', number: true, cell: ({ amount, asset }) => credit(amount, asset) },
      { head: 'Asset', cell: ({ asset }) => asset },
    ],
    postings,
  )
