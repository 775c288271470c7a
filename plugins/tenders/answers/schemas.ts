import { s } from 'agenthub/plugin'
import { EVENTS, LABELS, SIGNALS, STATUSES, VERIFICATIONS } from '../domain/enums.ts'
import { KINDS } from '../model.ts'
import { LIMIT, OFFSET_MAX } from './query.ts'

const page = {
  limit: s.optional(
    s.integer({ minimum: 1, maximum: LIMIT.max, description: `Default ${LIMIT.default}.` }),
  ),
  offset: s.optional(s.integer({ minimum: 0, maximum: OFFSET_MAX, description: 'Default 0.' })),
}
const country = s.optional(
  s.string({
    minLength: 2,
    maxLength: 3,
    description: 'ISO 3166-1 alpha-3 of any buyer, such as DEU.',
  }),
)
const cpvPrefix = s.optional(
  s.string({
    minLength: 2,
    maxLength: 8,
    description: '2 to 8 digits; looked for in main, additional and lot codes.',
  }),
)
const minScore = s.optional(s.number({ minimum: 0, maximum: 100 }))

export const changesInput = s.object({
  event: s.optional(s.oneOf(EVENTS)),
  signal: s.optional(s.oneOf(SIGNALS)),
  verification_status: s.optional(
    s.oneOf(VERIFICATIONS, { description: 'Default: verified, declared and suspect.' }),
  ),
  country,
  cpv_prefix: cpvPrefix,
  min_score: minScore,
  ...page,
})

export const briefInput = s.object({})

export const feedInput = s.object({
  country,
  cpv_prefix: cpvPrefix,
  kind: s.optional(
    s.oneOf(KINDS, { description: 'Default: planning, consultation and competition.' }),
  ),
  label: s.optional(s.oneOf(LABELS, { description: 'Relevance: high from 70, medium from 40.' })),
  min_score: minScore,
  status: s.optional(
    s.oneOf(STATUSES, {
      description: 'At the time of the request. Default: open, planned, unclear.',
    }),
  ),
  ...page,
})

/** Items are described in the README; validating each would cost more than finding it. */
const items = s.array(s.record(s.unknown()))
const envelope = {
  snapshot_as_of: s.string({ format: 'date-time' }),
  stale: s.boolean({ description: 'A day is missing; then the answer costs nothing.' }),
  attribution: s.string(),
  sample: s.optional(s.boolean({ description: 'Fictional notices.' })),
  note: s.optional(s.string()),
}
const pagination = s.object({
  limit: s.integer(),
  offset: s.integer(),
  total: s.integer(),
  returned: s.integer(),
  next_offset: s.nullable(s.integer()),
})

export const listOutput = s.object({ data: items, pagination, ...envelope })

export const briefOutput = s.object({
  data: s.object({
    date: s.string({ format: 'date' }),
    ojs: s.nullable(s.string()),
    newly_published: items,
    official_changes: items,
    closing_within_7_days: items,
    counts: s.record(s.integer()),
    evaluated_at: s.string({ format: 'date-time' }),
    window: s.object({
      from: s.string({ format: 'date-time' }),
      to: s.string({ format: 'date-time' }),
    }),
    stale: s.boolean(),
  }),
  ...envelope,
})
