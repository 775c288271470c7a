import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import { asBuffer } from '../bytes.ts'
import { Fault } from '../errors.ts'
import type { CheckResult, CheckTask } from './check-worker.ts'
import type { Schema } from './schema.ts'
import { isWithin, schemaCost } from './schema-cost.ts'
import { compile, type Issue } from './validate.ts'

/** Validates a value; a `Uint8Array` is JSON text. @throws SyntaxError if it is not JSON */
export type ValueCheck = (value: unknown) => readonly Issue[] | Promise<readonly Issue[]>

/** Limits (schema-cost.ts) of what the event loop does itself: about ten milliseconds each. */
const COMPILE_SIZE_MAX = 100
const INLINE_UNITS = 10_000_000
const INLINE_BYTES = 262_144

/** Limits of a validation in a worker. */
const DEADLINE_MS = 2_000
const START_MS = 10_000
const HEAP_MB = 512
const QUEUE_MAX = 32
const IDLE_MS = 60_000

let pool: Piscina<CheckTask, CheckResult> | undefined

/** Worker threads, started with the first costly validation and stopped when idle. */
const open = (): Piscina<CheckTask, CheckResult> =>
  new Piscina({
    filename: new URL('./check-worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: Math.max(2, availableParallelism() - 1),
    maxQueue: QUEUE_MAX,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    env: {},
  }).on('error', () => {}) // a worker that ended after its task was aborted: nobody waits for it

/**
 * Validates a value by a schema of a stranger. If schema and value together are cheap, the event
 * loop validates; otherwise a worker with a deadline does. A validation that takes too long is an
 * issue.
 * @throws SyntaxError for bytes that are not JSON
 * @throws Fault `service_unavailable` while too many other values wait for a worker
 */
export const checkValue =
  (schema: Schema<unknown>): ValueCheck =>
  (value) => {
    const isBytes = value instanceof Uint8Array
    if (schemaCost(schema.json).size <= COMPILE_SIZE_MAX) {
      if (!isBytes && isWithin(INLINE_UNITS, schema.json, value)) return compile(schema)(value)
      if (isBytes && value.length <= INLINE_BYTES) {
        const parsed: unknown = JSON.parse(asBuffer(value).toString('utf8'))
        if (isWithin(INLINE_UNITS, schema.json, parsed)) return compile(schema)(parsed)
      }
    }
    return checkInWorker(schema, isBytes ? value : JSON.stringify(value ?? null))
  }

async function checkInWorker(
  { json }: Schema<unknown>,
  value: string | Uint8Array,
): Promise<readonly Issue[]> {
  const result = await runTask({ schema: JSON.stringify(json), value })
  if (result === undefined) return [TOO_COSTLY]
  if ('issues' in result) return result.issues
  if (result.invalid === 'value') throw new SyntaxError(result.message)
  throw new Error(`the schema cannot be compiled: ${result.message}`)
}

const TOO_COSTLY: Issue = {
  path: '',
  message: 'takes too long to validate: send fewer or smaller values',
}

/** Compiles a schema, in a worker if that is costly. @throws Error if it is invalid */
export async function assertCompiles(schema: Schema<unknown>): Promise<void> {
  if (schemaCost(schema.json).size <= COMPILE_SIZE_MAX) {
    compile(schema)
    return
  }
  const result = await runTask({ schema: JSON.stringify(schema.json), value: undefined })
  if (result === undefined) throw new Error('the schema takes too long to compile')
  if ('invalid' in result) throw new Error(result.message)
}

const NO_TASK: CheckTask = { schema: '{}', value: undefined }

/** Runs a task in a worker. Returns undefined if it exceeds its time or memory. */
async function runTask(task: CheckTask): Promise<CheckResult | undefined> {
  pool ??= open()
  let signal: AbortSignal | undefined
  try {
    // The start of a thread, seconds on a busy machine, is not part of a validation.
    if (pool.threads.length === 0)
      await pool.run(NO_TASK, { signal: AbortSignal.timeout(START_MS) })
    signal = AbortSignal.timeout(DEADLINE_MS)
    return await pool.run(task, { signal })
  } catch (error) {
    if (signal?.aborted || isOutOfMemory(error)) return undefined
    if (error instanceof RangeError) return undefined // the recursion was too deep
    throw new Fault('service_unavailable', 'The hub is validating other large values.', {
      cause: error,
    })
  }
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
