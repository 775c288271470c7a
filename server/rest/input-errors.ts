import type { z } from 'zod'
import { Fault } from '../../core/errors.ts'

const ERRORS_MAX = 20

/** Error in one member of a body or query, in the same shape as the proxy's input errors. */
export interface InputError {
  /** JSON pointer. */
  readonly path: string
  /** Predicate, such as `must be a UUID`. */
  readonly message: string
  /** Allowed values or member names. */
  readonly allowed?: readonly unknown[]
}

/** Fault for one invalid member. @param path JSON pointer @param message predicate or sentence */
export const inputFault = (path: string, message: string): Fault =>
  new Fault('validation_failed', `${path}: ${message.replace(/\.$/, '')}.`, {
    extras: { issues: [{ path, message }] },
  })

/** Converts the issues of a schema to input errors; at most twenty. */
export const inputErrorsOf = (schema: z.ZodType, { issues }: z.ZodError): readonly InputError[] =>
  issues.flatMap((issue) => inputErrors(schema, issue)).slice(0, ERRORS_MAX)

function inputErrors(schema: z.ZodType, issue: z.core.$ZodIssue): readonly InputError[] {
  const { code, message } = issue
  const path = `/${issue.path.join('/')}`
  if (!GENERIC_MESSAGE.test(message)) return [{ path, message }] // written for this schema
  if (code === 'unrecognized_keys') {
    const allowed = issue.path.length === 0 ? { allowed: membersOf(schema) } : {}
    const parent = path === '/' ? '' : path
    return issue.keys.map((key) => ({
      path: `${parent}/${key}`,
      message: UNKNOWN_MEMBER,
      ...allowed,
    }))
  }
  if (code === 'invalid_value') return [{ path, message: NOT_ALLOWED, allowed: issue.values }]
  if (code === 'invalid_type') {
    const isMissing = message.endsWith('received undefined')
    return [{ path, message: isMissing ? 'is required' : `must be ${withArticle(issue.expected)}` }]
  }
  if (code === 'invalid_format') {
    return [{ path, message: FORMAT_MESSAGES[issue.format] ?? 'has an invalid format' }]
  }
  if (code === 'too_small') {
    return [{ path, message: `must ${verb(issue.origin)} at least ${issue.minimum}` }]
  }
  if (code === 'too_big') {
    return [{ path, message: `must ${verb(issue.origin)} at most ${issue.maximum}` }]
  }
  return [{ path, message: 'is invalid' }]
}

/** Default messages of the library. */
const GENERIC_MESSAGE = /^(?:Invalid|Too (?:small|big)|Unrecognized)\b/
const UNKNOWN_MEMBER = 'is not a known field'
const NOT_ALLOWED = 'is not one of the allowed values'
const FORMAT_MESSAGES: Readonly<Record<string, string>> = {
  uuid: 'must be a UUID',
  email: 'must be an email address',
  date: 'must be a date, such as 2026-11-30',
  datetime: 'must be a UTC time, such as 2026-11-30T12:00:00Z',
}

const withArticle = (type: string): string => `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`

/** A limit applies to the value of a number or date, and to the length of anything else. */
const verb = (origin: string): string =>
  /^(?:number|int|bigint|date)$/.test(origin) ? 'be' : 'have a length of'

const membersOf = (schema: z.ZodType): readonly string[] =>
  'shape' in schema ? Object.keys(schema.shape as object) : []
