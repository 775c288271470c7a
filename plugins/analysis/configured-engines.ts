import { Failure, type Host, Refusal } from 'agenthub/plugin'
import type { ConfiguredEngine } from './engines.ts'
import type { Envelope } from './envelope.ts'
import { EngineError } from './llm/engine-error.ts'
import type { Model } from './llm/model.ts'
import { ollamaModel } from './llm/ollama.ts'
import { sdkModel } from './llm/sdk.ts'
import { type EngineSettings, type ModelSettings, misconfigured } from './llm/settings.ts'
import { createPost } from './llm/transport.ts'
import { onnxEngine } from './onnx/index.ts'
import type { WorkerPool } from './worker-pool.ts'

interface EngineDeps {
  readonly host: Omit<Host, 'buyer'>
  /** Thread pool of the embedded engine. */
  readonly pool: WorkerPool
}

/** @throws Refusal `misconfigured` if a named secret is not set */
export const configureEngines = (
  settings: readonly EngineSettings[],
  { host, pool }: EngineDeps,
): readonly ConfiguredEngine[] =>
  settings.map((one): ConfiguredEngine => {
    if (one.dialect === 'embedded') return threadEngine('embedded', pool)
    if (one.dialect === 'onnx') return onnxEngine(one)
    const { name, model, input_price, output_price, max_cost, max_cost_per_day } = one
    const remote = modelOf(one, host)
    const open = async () => (await import('./llm/engine.ts')).remoteEngine(one, remote)
    let opened: ReturnType<typeof open> | undefined // with the first call
    const prices = { input_price, output_price, max_cost, max_cost_per_day }
    return {
      name,
      kind: 'remote',
      model,
      prices,
      answer: async (...call) => (await (opened ??= open())).answer(...call),
    }
  })

const modelOf = (settings: ModelSettings, host: EngineDeps['host']): Model => {
  const { name, secret, dialect, timeout_seconds: seconds } = settings
  const apiKey = secret === undefined ? undefined : host.secret(secret)
  if (secret !== undefined && apiKey === undefined) {
    throw misconfigured(`engine ${name}: HUB_SECRET_${secret} is not set`)
  }
  const deps = { post: createPost(host, seconds * 1_000), apiKey }
  return dialect === 'ollama' ? ollamaModel(settings, deps) : sdkModel(settings, deps)
}

/** Refusals of the worker are passed on; other errors are temporary failures. */
const threadEngine = (name: string, pool: Pick<WorkerPool, 'run'>): ConfiguredEngine => ({
  name,
  kind: 'local',
  async answer(request, signal) {
    try {
      return (await pool.run(request, signal)) as Envelope
    } catch (error) {
      if (error instanceof Refusal || error instanceof Failure || signal.aborted) throw error
      const message = error instanceof Error ? error.message : 'unknown'
      throw new EngineError('unavailable', message, undefined, error)
    }
  },
})
