import type { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { issueMessage } from '../../core/runtime/issue-message.ts'

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
  const { code } = issue
  const path = `/${issue.path.join('/')}`
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
  return [{ path, message: issueMessage(issue) }]
}

const UNKNOWN_MEMBER = 'is not a known field'
const NOT_ALLOWED = 'is not one of the allowed values'

const membersOf = (schema: z.ZodType): readonly string[] =>
  'shape' in schema ? Object.keys(schema.shape as object) : []
