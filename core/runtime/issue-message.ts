import type { z } from 'zod'

/** Says what a value must be, such as `must be at least 1`, as the predicate of a sentence. */
export function issueMessage(issue: z.core.$ZodIssue): string {
  const { code, message } = issue
  if (!GENERIC_MESSAGE.test(message)) return message // written for this schema
  if (code === 'invalid_value') return `must be ${alternatives(issue.values)}`
  if (code === 'invalid_type') {
    const isMissing = message.endsWith('received undefined')
    return isMissing ? 'is required' : `must be ${TYPES[issue.expected] ?? `a ${issue.expected}`}`
  }
  if (code === 'invalid_format') {
    if (issue.format === 'url') return urlMessage(issue.pattern)
    return FORMATS[issue.format] ?? 'has an invalid format'
  }
  if (code === 'too_small') return `must ${verb(issue.origin)} at least ${issue.minimum}`
  if (code === 'too_big') return `must ${verb(issue.origin)} at most ${issue.maximum}`
  if (code === 'not_multiple_of') return `must be a multiple of ${issue.divisor}`
  return 'is invalid'
}

/** Default messages of the library. */
const GENERIC_MESSAGE = /^(?:Invalid|Too (?:small|big)|Unrecognized)\b/
const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  bigint: 'a whole number',
  array: 'an array',
  object: 'an object',
}
const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'must be a UUID',
  email: 'must be an email address',
  date: 'must be a date, such as 2026-11-30',
  datetime: 'must be a UTC time, such as 2026-11-30T12:00:00Z',
}

const alternatives = (values: readonly unknown[]): string =>
  new Intl.ListFormat('en', { type: 'disjunction' }).format(values.map(String))

const PROTOCOLS: Readonly<Record<string, string>> = {
  '^https?$': 'http:// or https://',
  '^postgres(ql)?$': 'postgres:// or postgresql://',
  '^rediss?$': 'redis:// or rediss://',
  '^smtps?$': 'smtp:// or smtps://',
}

/** @param protocol pattern of the protocol; undefined if the text is no URL at all */
function urlMessage(protocol: string | undefined): string {
  const begin = PROTOCOLS[protocol ?? '']
  return begin === undefined ? 'must be a URL' : `must begin with ${begin}`
}

/** A limit applies to the value of a number or date, and to the length of anything else. */
const verb = (origin: string): string =>
  /^(?:number|int|bigint|date)$/.test(origin) ? 'be' : 'have a length of'
