import { Refusal } from 'agenthub/plugin'
import {
  EVENTS,
  type Event,
  LABELS,
  type Label,
  SIGNALS,
  type Signal,
  STATUSES,
  type Status,
  VERIFICATIONS,
  type Verification,
} from '../domain/enums.ts'
import { KINDS, type Kind } from '../model.ts'
import { COUNTRIES, countryOf } from '../parse/countries.ts'

/** Raw query parameters: JSON values from a request, text from the command line. */
export type QueryParameters = Readonly<Record<string, unknown>>

export const LIMIT = { default: 25, max: 100 } as const
export const OFFSET_MAX = 10_000

export interface Page {
  readonly limit: number
  readonly offset: number
}

export interface FeedQuery extends Page {
  readonly country: string | undefined
  readonly cpvPrefix: string | undefined
  readonly kind: Kind | undefined
  readonly label: Label | undefined
  readonly minScore: number | undefined
  readonly status: Status | undefined
}

export interface ChangesQuery extends Page {
  readonly event: Event | undefined
  readonly signal: Signal | undefined
  readonly verification: Verification | undefined
  readonly country: string | undefined
  readonly cpvPrefix: string | undefined
  readonly minScore: number | undefined
}

/** @throws Refusal that names the parameter and its allowed values */
export const feedQuery = (parameters: QueryParameters): FeedQuery => ({
  country: country(parameters['country']),
  cpvPrefix: cpvPrefix(parameters['cpv_prefix']),
  kind: oneOf('kind', parameters['kind'], KINDS),
  label: oneOf('label', parameters['label'], LABELS),
  minScore: number('min_score', parameters['min_score'], 0, 100),
  status: oneOf('status', parameters['status'], STATUSES),
  ...page(parameters),
})

/** @throws Refusal that names the parameter and its allowed values */
export const changesQuery = (parameters: QueryParameters): ChangesQuery => ({
  event: oneOf('event', parameters['event'], EVENTS),
  signal: oneOf('signal', parameters['signal'], SIGNALS),
  verification: oneOf('verification_status', parameters['verification_status'], VERIFICATIONS),
  country: country(parameters['country']),
  cpvPrefix: cpvPrefix(parameters['cpv_prefix']),
  minScore: number('min_score', parameters['min_score'], 0, 100),
  ...page(parameters),
})

const page = (parameters: QueryParameters): Page => ({
  limit: whole('limit', parameters['limit'], 1, LIMIT.max) ?? LIMIT.default,
  offset: whole('offset', parameters['offset'], 0, OFFSET_MAX) ?? 0,
})

const refused = (name: string, detail: string, extras: Record<string, unknown> = {}): Refusal =>
  new Refusal('validation_failed', `${name} ${detail}.`, { parameter: name, ...extras })

function oneOf<T extends string>(
  name: string,
  value: unknown,
  allowed: readonly T[],
): T | undefined {
  if (value === undefined) return undefined
  const found = allowed.find((each) => each === value)
  if (found) return found
  throw refused(name, `is one of ${allowed.join(', ')}`, { allowed })
}

function number(name: string, value: unknown, least: number, most: number): number | undefined {
  if (value === undefined) return undefined
  const isText = typeof value === 'string' && /^\d{1,6}(?:\.\d{1,6})?$/.test(value)
  const found = isText ? Number(value) : value
  if (typeof found === 'number' && found >= least && found <= most) return found
  throw refused(name, `is a number from ${least} to ${most}`)
}

function whole(name: string, value: unknown, least: number, most: number): number | undefined {
  const found = number(name, value, least, most)
  if (found === undefined || Number.isInteger(found)) return found
  throw refused(name, `is a whole number from ${least} to ${most}`)
}

/** Parses an alpha-3 country; refuses alpha-2 and suggests the alpha-3 code. */
function country(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const code = typeof value === 'string' ? value.toUpperCase() : ''
  if (COUNTRIES.has(code)) return code
  const meant = countryOf(code)
  const hint = meant ? `; use ${meant}` : ''
  throw refused('country', `is an ISO 3166-1 alpha-3 code, such as DEU${hint}`)
}

function cpvPrefix(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && /^\d{2,8}$/.test(value)) return value
  throw refused(
    'cpv_prefix',
    'is 2 to 8 digits of a CPV code, with a leading zero where it has one',
  )
}
