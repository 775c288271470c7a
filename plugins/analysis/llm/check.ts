import { type OutputUnit, Validator } from '@cfworker/json-schema'
import type { Json } from '../caller-schema.ts'

const ISSUES_MAX = 8

/**
 * What of a value does not satisfy a schema, deepest first, in words that a model can act on;
 * nothing for a valid one. Schemas are walked, never compiled: a caller's costs no more than its
 * size.
 */
export const issuesOf = (schema: Json, value: unknown): readonly string[] => {
  const validator = known.get(schema) ?? new Validator({ ...schema }, '2020-12', false)
  known.set(schema, validator)
  const { valid, errors } = validator.validate(value)
  if (valid) return []
  const leaves = errors.filter(({ keyword }) => !SUMMARIES.has(keyword))
  return (leaves.length > 0 ? leaves : errors).slice(0, ISSUES_MAX).map(worded)
}

/** By the schema itself: those of the house come again and again. */
const known = new WeakMap<Json, Validator>()

/** Say only that something inside is wrong. */
const SUMMARIES = new Set(['properties', 'items', 'anyOf', 'false'])

const worded = ({ instanceLocation, error }: OutputUnit): string =>
  `${instanceLocation.replace(/^#/, '') || '/'}: ${error}`.slice(0, 300)
