import { LRUCache } from 'lru-cache'
import { asBuffer } from '../bytes.ts'
import { type Check, compile, type Issue } from './validate.ts'

/** Value as JSON text or its UTF-8 bytes, and the JSON text of its schema. */
export interface CheckTask {
  readonly schema: string
  readonly value: string | Uint8Array | undefined
}

export type CheckResult =
  | { readonly issues: readonly Issue[] }
  /** The schema is invalid, or the value is not JSON. */
  | { readonly invalid: 'schema' | 'value'; readonly message: string }

const checks = new LRUCache<string, Check>({ max: 50 })

/** Worker entry point: compiles the schema and, if there is a value, validates it. */
export default ({ schema, value }: CheckTask): CheckResult => {
  let check: Check
  try {
    check = checks.get(schema) ?? compile({ json: JSON.parse(schema) as Record<string, unknown> })
    checks.set(schema, check)
  } catch (error) {
    return { invalid: 'schema', message: (error as Error).message }
  }
  if (value === undefined) return { issues: [] }
  let parsed: unknown
  try {
    parsed = JSON.parse(typeof value === 'string' ? value : asBuffer(value).toString('utf8'))
  } catch (error) {
    return { invalid: 'value', message: (error as Error).message }
  }
  return { issues: check(parsed) }
}
