import type { z } from 'zod'

const ISSUES_MAX = 20

/** What is wrong with one member of a body or query, as the proxy tells it too. */
export interface Complaint {
  /** JSON pointer. */
  readonly path: string
  readonly message: string
  /** What would be right. */
  readonly allowed?: readonly unknown[]
}

/** What a schema has against a value, in words of our own; at most twenty things. */
export const complaintsOf = (schema: z.ZodType, { issues }: z.ZodError): readonly Complaint[] =>
  issues.flatMap((issue) => complaints(schema, issue)).slice(0, ISSUES_MAX)

function complaints(schema: z.ZodType, issue: z.core.$ZodIssue): readonly Complaint[] {
  const { code, message } = issue
  const path = `/${issue.path.join('/')}`
  if (!GENERIC.test(message)) return [{ path, message }] // the schema says it better
  if (code === 'unrecognized_keys') {
    const allowed = issue.path.length === 0 ? { allowed: membersOf(schema) } : {}
    const place = path === '/' ? '' : path
    return issue.keys.map((key) => ({ path: `${place}/${key}`, message: UNKNOWN, ...allowed }))
  }
  if (code === 'invalid_value') return [{ path, message: OTHER, allowed: issue.values }]
  if (code === 'invalid_type') {
    return [{ path, message: message.endsWith(NOTHING) ? 'is required' : wanted(issue) }]
  }
  if (code === 'too_small') {
    return [{ path, message: `must ${verb(issue.origin)} at least ${issue.minimum}` }]
  }
  if (code === 'too_big') {
    return [{ path, message: `must ${verb(issue.origin)} at most ${issue.maximum}` }]
  }
  return [{ path, message }]
}

/** How the library says what no schema has words for. */
const GENERIC = /^(?:Invalid|Too (?:small|big)|Unrecognized)\b/
const UNKNOWN = 'is not known here'
const OTHER = 'is not one of the allowed values'
const NOTHING = 'received undefined'

const wanted = ({ expected }: { readonly expected: string }): string =>
  `must be ${/^[aeiou]/.test(expected) ? 'an' : 'a'} ${expected}`

/** A number is so large; of texts and lists it is the length. */
const verb = (origin: string): string =>
  /^(?:number|int|bigint|date)$/.test(origin) ? 'be' : 'have a length of'

const membersOf = (schema: z.ZodType): readonly string[] =>
  'shape' in schema ? Object.keys(schema.shape as object) : []
