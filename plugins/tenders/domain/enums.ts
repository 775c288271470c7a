/** The closed lists that queries and answers use. Others are refused with the list. */

export const SIGNALS = ['deadline', 'value', 'documents', 'status', 'scope', 'other'] as const
export type Signal = (typeof SIGNALS)[number]

export const EVENTS = [
  'deadline_extended',
  'deadline_shortened',
  'deadline_set',
  'deadline_removed',
  'value_increased',
  'value_decreased',
  'value_set',
  'value_removed',
  'documents_updated',
  'documents_url_changed',
  'submission_url_changed',
  'cancelled',
  'cancellation_intended',
  'suspended',
  'awarded',
  'not_awarded',
  'contract_modified',
  'reopened',
  'lots_changed',
  'scope_changed',
  'information_released',
  'correction_other',
] as const
export type Event = (typeof EVENTS)[number]

/**
 * - `verified`: an official change notice whose predecessor is stored, with different values; F14,
 * which has both values; a code of a result or a cancellation.
 * - `declared`: an official change notice; the old value is unknown or only in its text.
 * - `unverified`: values differ without a change notice.
 * - `conflicting`: the official text contradicts the values.
 * - `suspect`: an official correction that is probably mistyped, such as a deadline moved by years.
 */
export const VERIFICATIONS = [
  'verified',
  'declared',
  'unverified',
  'conflicting',
  'suspect',
] as const
export type Verification = (typeof VERIFICATIONS)[number]

/** `lapsed`: a plan that no call has followed. `unclear`: the deadline is no date. */
export const STATUSES = [
  'planned',
  'lapsed',
  'open',
  'unclear',
  'closed',
  'suspended',
  'cancelled',
  'awarded',
  'unsuccessful',
] as const
export type Status = (typeof STATUSES)[number]

export const LABELS = ['high', 'medium', 'low'] as const
export type Label = (typeof LABELS)[number]
