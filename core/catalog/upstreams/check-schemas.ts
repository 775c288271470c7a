import type { Issue } from '../../plugin/validate.ts'
import { runInWorker, WorkerLimitExceeded } from './run-in-worker.ts'
import {
  findCompileIssues,
  findSchemaIssues,
  type LocatedSchema,
  newSchemaBudget,
} from './schemas.ts'

const LIMITS = { deadlineMs: 5_000, heapMb: 256 } as const
/** Up to this number, compiling in the main thread is faster than starting a worker. */
const INLINE_MAX = 20

/**
 * Finds issues in the schemas of a service. Many schemas, and those with patterns, are slow to
 * compile, so that this happens in a worker with a limit of 5 seconds.
 * @throws Fault `rate_limited` while other workers run
 */
export async function checkSchemas(schemas: readonly LocatedSchema[]): Promise<readonly Issue[]> {
  const left = newSchemaBudget()
  const all = { ...left }
  for (const { schema, at } of schemas) {
    const issues = findSchemaIssues(schema, at, left)
    if (issues.length > 0) return issues
  }
  const isFew = all.schemas - left.schemas <= INLINE_MAX && left.patterns === all.patterns
  if (isFew) return findCompileIssues(schemas)
  try {
    return await runInWorker(new URL('./check-schemas-worker.ts', import.meta.url), schemas, LIMITS)
  } catch (error) {
    if (!(error instanceof WorkerLimitExceeded)) throw error
    const [first] = schemas
    return [{ path: first?.at ?? '', message: 'the schemas take too long to compile' }]
  }
}
