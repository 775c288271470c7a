import { type OutputUnit, Validator } from '@cfworker/json-schema'
import type { Json } from '../caller-schema.ts'

const ISSUES_MAX = 8

/** Violations, deepest first. Schemas are interpreted, not compiled, to bound a caller's cost. */
export const issuesOf = (schema: Json, value: unknown): readonly string[] => {
  const validator = validators.get(schema) ?? new Validator({ ...schema }, '2020-12', false)
  validators.set(schema, validator)
  const { valid, errors } = validator.validate(value)
  if (valid) return []
  const leaves = errors.filter(({ keyword }) => !SUMMARY_KEYWORDS.has(keyword))
  return (leaves.length > 0 ? leaves : errors).slice(0, ISSUES_MAX).map(describeIssue)
}

/** Cached validators; the platform's own schemas recur. */
const validators = new WeakMap<Json, Validator>()

/** Keywords whose errors only repeat that something inside is wrong. */
const SUMMARY_KEYWORDS = new Set(['properties', 'items', 'anyOf', 'false'])

const describeIssue = ({ instanceLocation, error }: OutputUnit): string =>
  `${instanceLocation.replace(/^#/, '') || '/'}: ${error}`.slice(0, 300)
