import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfiguredEngine } from '../engines.ts'
import type { Envelope } from '../envelope.ts'
import { EngineError } from '../llm/engine-error.ts'
import { misconfigured, type OnnxSettings } from '../llm/settings.ts'
import type { Request } from '../request.ts'
import { WorkerPool } from '../worker-pool.ts'
import { PACKAGE } from './pipelines.ts'

/** Message to the worker thread. */
export interface OnnxJob {
  readonly settings: OnnxSettings
  readonly request: Request
}

const TASKS: Readonly<
  Record<Request['endpoint'], 'entities' | 'sentiment' | 'classify' | undefined>
> = {
  'extract-entities': 'entities',
  sentiment: 'sentiment',
  classify: 'classify',
  analyze: undefined,
}

/** Models that need longer are too large for this machine. */
const DEADLINE_MS = 60_000
const QUEUE_MAX = 16

/** Runs local ONNX models in a thread. @throws Refusal `misconfigured` if a file is missing */
export const onnxEngine = (settings: OnnxSettings): ConfiguredEngine => {
  assertInstalled(settings)
  const pool = new WorkerPool(new URL('./worker.ts', import.meta.url), {
    size: 1,
    queue: QUEUE_MAX,
    deadlineMs: DEADLINE_MS,
  })
  return {
    name: settings.name,
    kind: 'local',
    async answer(request, signal) {
      const task = TASKS[request.endpoint]
      if (task === undefined || settings[task] === undefined) {
        throw new EngineError('unsupported', `there is no model for ${request.endpoint}`)
      }
      return (await pool.run({ settings, request } satisfies OnnxJob, signal)) as Envelope
    },
  }
}

const assertInstalled = (settings: OnnxSettings): void => {
  const { name, folder } = settings
  try {
    import.meta.resolve(PACKAGE)
  } catch {
    throw misconfigured(`engine ${name}: a required package is missing: npm i ${PACKAGE}`)
  }
  for (const task of ['entities', 'sentiment', 'classify'] as const) {
    const model = settings[task]
    if (model !== undefined && !existsSync(join(folder, model, 'config.json'))) {
      throw misconfigured(`engine ${name}: there is no config.json in ${join(folder, model)}`)
    }
  }
}
