import type { Issue } from '../../plugin/validate.ts'
import { apart, TooMuch } from './apart.ts'
import { budget, compileError, type Json, schemaIssues } from './schemas.ts'

/** A schema of a service, and where it stands. */
export interface Placed {
  readonly at: string
  readonly schema: Json
}

const ALLOWANCE = { deadlineMs: 5_000, heapMb: 256 } as const
/** So few take less time here than a thread takes to begin. */
const FEW = 50

/**
 * What is wrong with the schemas of a service. To compile them takes time, so that many, and those
 * with patterns, are tried in a thread of its own, for five seconds at most.
 * @throws Fault `rate_limited` while others are tried
 */
export async function issuesOf(schemas: readonly Placed[]): Promise<readonly Issue[]> {
  const left = budget()
  const all = { ...left }
  for (const { schema, at } of schemas) {
    const issues = schemaIssues(schema, at, left)
    if (issues.length > 0) return issues
  }
  const isFew = all.schemas - left.schemas <= FEW && left.patterns === all.patterns
  if (isFew) return compileIssues(schemas)
  try {
    return await apart(new URL('./compiling-thread.ts', import.meta.url), schemas, ALLOWANCE)
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error
    const [first] = schemas
    return [{ path: first?.at ?? '', message: 'the schemas take too long to compile' }]
  }
}

/** The first schema that cannot be checked by. */
export function compileIssues(schemas: readonly Placed[]): readonly Issue[] {
  for (const { at, schema } of schemas) {
    const wrong = compileError(schema)
    if (wrong !== undefined) return [{ path: at, message: wrong }]
  }
  return []
}
