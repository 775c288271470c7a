import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../answer.ts'
import type { Listed } from '../engines.ts'
import { misconfigured, type OnnxSettings } from '../llm/settings.ts'
import { Trouble } from '../llm/trouble.ts'
import { Pool } from '../pool.ts'
import type { Request } from '../request.ts'
import { PACKAGE } from './pipelines.ts'

/** What the thread is handed. */
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

/** A model of that size answers within a minute, or is too large for this machine. */
const DEADLINE_MS = 60_000
const QUEUE = 16

/**
 * The operator's own ONNX models, from a folder, in a thread of their own. Nothing is downloaded.
 * @throws Refusal `misconfigured` where the package or a model is not there
 */
export const onnxEngine = (settings: OnnxSettings): Listed => {
  assertInstalled(settings)
  const pool = new Pool(new URL('./worker.ts', import.meta.url), {
    size: 1,
    queue: QUEUE,
    deadline: DEADLINE_MS,
  })
  return {
    name: settings.name,
    kind: 'local',
    async answer(request, signal) {
      const task = TASKS[request.endpoint]
      if (task === undefined || settings[task] === undefined) {
        throw new Trouble('unsupported', `there is no model for ${request.endpoint}`)
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
    throw misconfigured(
      `engine ${name}: it needs a package that is not installed: npm i ${PACKAGE}`,
    )
  }
  for (const task of ['entities', 'sentiment', 'classify'] as const) {
    const model = settings[task]
    if (model !== undefined && !existsSync(join(folder, model, 'config.json'))) {
      throw misconfigured(`engine ${name}: there is no config.json in ${join(folder, model)}`)
    }
  }
}
