import type { FieldValue } from '../model.ts'
import { scaled, unscaled } from '../parse/decimal.ts'
import type { Impact } from './change.ts'
import type { DetectedChange } from './detected-change.ts'
import type { Event } from './enums.ts'
import type { Difference } from './facts.ts'

const DAY = 86_400_000
const HOUR = 3_600_000
const VALUE_HIGH_PCT = 10

/** Part of a change that its impact depends on, besides its values. */
type Circumstances = Partial<Pick<DetectedChange, 'lotIds' | 'lotText' | 'signal' | 'verification'>>

/** Event, or a correction whose text alone says that a deadline has changed. */
type ImpactCase = Event | 'deadline_declared'

/** Rates the commercial impact of a change by fixed rules. */
export function impactOf(
  event: Event,
  { before, after }: Pick<Difference, 'before' | 'after'>,
  { lotIds = [], lotText, signal, verification }: Circumstances = {},
): Impact {
  const isDeclared = event === 'correction_other' && signal === 'deadline'
  const impactCase = isDeclared ? 'deadline_declared' : event
  const isSuspect = verification === 'suspect'
  const isOfLots = lotIds.length > 0
  const days = daysBetween(before, after)
  const hours = hoursBetween(before, after)
  const delta = valueDelta(before, after)
  const form = (isOfLots && FORMS_OF_LOTS[impactCase]) || FORMS[impactCase]
  const action = (isOfLots && ACTIONS_OF_LOTS[impactCase]) || ACTIONS[impactCase]
  const summary = form
    .replace('{before}', () => truncated(before))
    .replace('{after}', () => truncated(after))
    .replace('{move}', () => moveOf(days, hours))
    .replace('{lots}', () => lotIds.join(', '))
  const lots = lotText === undefined ? '' : ` It names lots that were not identified: ${lotText}.`
  return {
    level: levelOf(impactCase, delta?.pct ?? null),
    summary: `${summary}${lots}${isSuspect ? ' The year is probably mistyped.' : ''}`,
    days_delta: days,
    hours_delta: hours,
    value_delta: delta?.amount ?? null,
    value_delta_pct: delta?.pct ?? null,
    action: isSuspect ? 'Ask the buyer which deadline holds.' : action,
  }
}

/** Difference of deadlines in words; hours if it is less than two days. */
function moveOf(days: number | null, hours: number | null): string {
  const counted = (count: number, unit: string): string =>
    `${Math.abs(count)} ${unit}${Math.abs(count) === 1 ? '' : 's'}`
  if (hours !== null && Math.abs(hours) < 48) return counted(hours, 'hour')
  return days === null ? 'an unknown number of days' : counted(days, 'day')
}

const HIGH: ReadonlySet<ImpactCase> = new Set<ImpactCase>([
  'cancelled',
  'cancellation_intended',
  'suspended',
  'reopened',
  'deadline_extended',
  'deadline_shortened',
  'deadline_set',
  'deadline_removed',
  'deadline_declared',
])

function levelOf(impactCase: ImpactCase, pct: number | null): Impact['level'] {
  if (impactCase === 'correction_other') return 'low' // a text alone
  const isMuch = Math.abs(pct ?? 0) >= VALUE_HIGH_PCT
  return HIGH.has(impactCase) || isMuch ? 'high' : 'medium'
}

/** Calendar days, for the buyer, from the old deadline to the new one. */
function daysBetween(old: FieldValue, now: FieldValue): number | null {
  if (old?.type !== 'instant' || now?.type !== 'instant') return null
  const day = ({ local }: { local: string }): number =>
    Date.parse(`${local.slice(0, 10)}T00:00:00Z`)
  return (day(now) - day(old)) / DAY
}

/** Hours from the old deadline to the new one, in tenths; null without certain instants. */
function hoursBetween(old: FieldValue, now: FieldValue): number | null {
  if (old?.type !== 'instant' || now?.type !== 'instant') return null
  if (![old, now].every(({ local }) => local.includes('T'))) return null // a day without a time
  const isCertain = old.at !== null && now.at !== null
  const [from, to] = isCertain ? [old.at, now.at] : [`${old.local}Z`, `${now.local}Z`]
  const hours = (Date.parse(to) - Date.parse(from)) / HOUR
  return Number.isNaN(hours) ? null : Math.round(hours * 10) / 10
}

function valueDelta(
  old: FieldValue,
  now: FieldValue,
): { amount: string; pct: number | null } | null {
  if (old?.type !== 'amount' || now?.type !== 'amount' || old.currency !== now.currency) return null
  const [from, to] = [scaled(old.amount ?? '0'), scaled(now.amount ?? '0')]
  const pct = from === 0n ? null : Number(((to - from) * 10_000n) / from) / 100
  return { amount: unscaled(to - from), pct }
}

const ACTIONS: Readonly<Record<ImpactCase, string>> = {
  deadline_extended: 'Plan for the new deadline; confirm it on the official page.',
  deadline_shortened: 'Check at once whether the new deadline can be met.',
  deadline_set: 'Note the deadline; confirm it on the official page.',
  deadline_removed: 'Ask the buyer for the deadline that holds.',
  deadline_declared: 'Check the deadline on the official page at once.',
  value_increased: 'Review price and capacity against the new value.',
  value_decreased: 'Review price and capacity against the new value.',
  value_set: 'Compare the value with your calculation.',
  value_removed: 'Do not rely on the earlier value.',
  documents_updated: 'Fetch the procurement documents again.',
  documents_url_changed: 'Fetch the procurement documents from the new address.',
  submission_url_changed: 'Submit at the new address.',
  cancelled: 'Stop work on the tender; confirm on the official page.',
  cancellation_intended: 'Hold further costs until the buyer decides.',
  suspended: 'Hold further costs; watch for the buyer to go on.',
  awarded: 'See who won; standstill periods for review may run.',
  not_awarded: 'Watch for a new procedure.',
  contract_modified: 'See what was changed in the contract.',
  reopened: 'Check which deadline holds now.',
  lots_changed: 'Check which lots there are now.',
  scope_changed: 'Check whether the tender still fits.',
  information_released: 'Read the information that is now available.',
  correction_other: 'Read the official text of the correction.',
}

/** Forms of summaries. */
const FORMS: Readonly<Record<ImpactCase, string>> = {
  deadline_extended: 'Deadline moved from {before} to {after} ({move} later).',
  deadline_shortened: 'Deadline moved from {before} to {after} ({move} earlier).',
  deadline_set: 'Deadline set to {after}; there was none before.',
  deadline_removed: 'The deadline {before} was removed.',
  deadline_declared:
    'The buyer says that a deadline has changed; the notice now has {after}. See its text.',
  value_increased: 'Value raised from {before} to {after}.',
  value_decreased: 'Value lowered from {before} to {after}.',
  value_set: 'Value set to {after}; none was published before.',
  value_removed: 'The value {before} is no longer published.',
  documents_updated: 'The buyer has changed the procurement documents.',
  documents_url_changed: 'The procurement documents moved from {before} to {after}.',
  submission_url_changed: 'The address for submissions changed from {before} to {after}.',
  cancelled: 'The buyer cancels; code cancel.',
  cancellation_intended: 'The buyer intends to cancel.',
  suspended: 'The procedure is suspended for a review.',
  awarded: 'A winner was chosen.',
  not_awarded: 'The competition was closed without a winner.',
  contract_modified: 'The contract was modified.',
  reopened: 'The procedure goes on after a suspension or cancellation.',
  lots_changed: 'Lots changed from {before} to {after}.',
  scope_changed: 'Changed from {before} to {after}.',
  information_released: 'Information that was missing is now available.',
  correction_other: 'The buyer corrects the notice; see its text.',
}

/** Summaries and advice for changes of single lots. */
const FORMS_OF_LOTS: Readonly<Partial<Record<ImpactCase, string>>> = {
  cancelled: 'The buyer cancels {lots}; code cancel.',
  cancellation_intended: 'The buyer intends to cancel {lots}.',
  suspended: '{lots} are suspended for a review.',
  awarded: 'A winner was chosen for {lots}.',
  not_awarded: 'The competition for {lots} was closed without a winner.',
}
const ACTIONS_OF_LOTS: Readonly<Partial<Record<ImpactCase, string>>> = {
  cancelled: 'Stop work on these lots only; confirm on the official page.',
  cancellation_intended: 'Hold further costs for these lots until the buyer decides.',
  suspended: 'Hold further costs for these lots; watch for the buyer to go on.',
}

const VALUE_TEXT_MAX = 200

function truncated(value: FieldValue): string {
  const text = textOf(value)
  return text.length > VALUE_TEXT_MAX ? `${text.slice(0, VALUE_TEXT_MAX).toWellFormed()}…` : text
}

function textOf(value: FieldValue): string {
  if (value === null) return 'none'
  switch (value.type) {
    case 'instant':
      return value.at ?? `${value.local} (local time, no offset published)`
    case 'amount':
      return `${value.amount ?? ''} ${value.currency ?? ''}`
    case 'url':
      return value.url
    case 'code':
      return value.code
    case 'codes':
      return value.codes.join(', ')
    case 'text':
      return value.texts[0]?.text ?? 'none'
  }
}
