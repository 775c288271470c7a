import type { ChecklistItemName } from '../../../../core/finance/closing-checklist.ts'
import { decimal } from '../../../../core/money.ts'
import type { ActJson } from '../../../rest/finance/proposals.ts'
import { type Html, html } from '../../html.ts'
import { breakableHex } from '../../table.ts'
import { accountLink, entryPath, formatAmount } from './components.ts'
import { transferPath } from './wallet-transfers.ts'

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const RESOLUTIONS: Readonly<Record<string, string>> = {
  surplus: 'post to suspense',
  shortfall: 'post as an expense',
  identified: 'post as credits of a key',
  explained: 'post nothing, because exceptions cancel each other out',
}

const TEXTS: { readonly [Kind in ActJson['kind']]: (act: ActJson) => Html } = {
  adjustment: ({ terms }) => html`Debit ${accountLink(textOf(terms['debit']))}, credit
${accountLink(textOf(terms['credit']))}${transactionText(terms['transaction'])}.`,
  refund: ({ subject, terms, accounts: [payer] }) => html`Refund call
<a href="${entryPath(subject)}"><code>${subject}</code></a>, paid by ${
    terms['wallet'] === undefined
      ? payer !== undefined && accountLink(payer)
      : html`wallet ${breakableHex(textOf(terms['wallet']))}, as credits`
  }.`,
  exception: ({ subject, terms, accounts: [credits] }) =>
    terms['decision'] === 'small-deposits'
      ? html`Post ${countOf(terms['exceptions'])} small deposits of the wallet
${textOf(terms['wallet'])} to suspense.`
      : html`Resolve
<a href="/finance/exceptions?state=all">exception ${subject}</a>:
${RESOLUTIONS[textOf(terms['decision'])] ?? ''}${
  credits !== undefined && html` (${accountLink(credits)})`
}.`,
  transfer: ({ subject }) => html`Post the transfers of transaction
<a href="${transferPath(subject)}">${breakableHex(subject)}</a>.`,
  'write-off': ({ subject }) => html`Write off what provider <code>${subject}</code> owes.`,
  recovery: ({ subject }) => html`Take what provider <code>${subject}</code> owes out of its
earnings.`,
  breakage: ({ subject }) => html`Post credits of the unusable key <code>${subject}</code> as
income.`,
  revaluation: ({ subject, terms }) => html`Value the ETH at the end of ${subject} at
$${decimal(BigInt(textOf(terms['price'])))} (${textOf(terms['source'])}).`,
  period: ({ subject, terms }) => html`Close <a href="/finance/periods">${subject}</a> and all
months before it permanently${missingText(terms['override'])}.`,
  provider: ({ subject, terms }) => html`Assign provider <code>${subject}</code> to
${textOf(terms['name'])}, who would receive what it is owed.`,
}

const transactionText = (hash: unknown): Html | string =>
  typeof hash === 'string' ? html`, for transaction ${breakableHex(hash)}` : ''

const countOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0)

/** Conditions of the closing checklist that are not met, in words. */
const MISSING: Readonly<Record<string, string>> = {
  over: 'the month is not over',
  balanced: 'debits and credits differ',
  verified: 'entries are not verified',
  exceptions: 'exceptions are open',
  proposals: 'proposals await a second person',
  payments: 'payments are unresolved',
  revalued: 'the ETH is not valued',
} satisfies Record<ChecklistItemName, string>

const missingText = (missing: unknown): string =>
  Array.isArray(missing) && missing.length > 0
    ? `, although ${missing.map((name) => MISSING[String(name)] ?? name).join(' and ')}`
    : ''

/** Describes what a proposal would do. */
export const proposalText = (act: ActJson): Html => TEXTS[act.kind](act)

/** Amount of a proposal with its asset: that of the entry, or what it puts at risk. */
export function proposalAmount({ terms, exposure_microdollars: exposure }: ActJson): string {
  const [amount, asset] = [textOf(terms['amount']), textOf(terms['asset'])]
  return amount === '' || asset === ''
    ? `${formatAmount(exposure, 'USDC')} USDC`
    : `${formatAmount(BigInt(amount), asset)} ${asset}`
}
