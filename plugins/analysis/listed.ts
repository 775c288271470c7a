import { Failure, type Host, Refusal } from 'agenthub/plugin'
import type { Envelope } from './answer.ts'
import type { Listed } from './engines.ts'
import { remoteEngine } from './llm/engine.ts'
import type { Model } from './llm/model.ts'
import { ollamaModel } from './llm/ollama.ts'
import { sdkModel } from './llm/sdk.ts'
import { type EngineSettings, type ModelSettings, misconfigured } from './llm/settings.ts'
import { postBy } from './llm/transport.ts'
import { Trouble } from './llm/trouble.ts'
import { onnxEngine } from './onnx/index.ts'
import type { Pool } from './pool.ts'

interface Ports {
  readonly host: Omit<Host, 'buyer'>
  /** Threads of the embedded engine. */
  readonly pool: Pool
}

/**
 * The engines as they are configured, ready to be asked.
 * @throws Refusal `misconfigured` for a key that is named and not set
 */
export const listEngines = (
  settings: readonly EngineSettings[],
  { host, pool }: Ports,
): readonly Listed[] =>
  settings.map((one): Listed => {
    if (one.dialect === 'embedded') return local('embedded', pool)
    if (one.dialect === 'onnx') return onnxEngine(one)
    const { name, model, input_price, output_price, max_cost, max_cost_per_day } = one
    const { answer } = remoteEngine(one, modelOf(one, host))
    const prices = { input_price, output_price, max_cost, max_cost_per_day }
    return { name, kind: 'remote', model, prices, answer }
  })

const modelOf = (settings: ModelSettings, host: Ports['host']): Model => {
  const { name, secret, dialect, timeout_seconds: seconds } = settings
  const apiKey = secret === undefined ? undefined : host.secret(secret)
  if (secret !== undefined && apiKey === undefined) {
    throw misconfigured(`engine ${name}: HUB_SECRET_${secret} is not set`)
  }
  const ports = { post: postBy(host, seconds * 1_000), apiKey, clock: host.clock }
  return dialect === 'ollama' ? ollamaModel(settings, ports) : sdkModel(settings, ports)
}

/** An engine in threads: what they refuse is a refusal, what they fail at may be over soon. */
const local = (name: string, pool: Pick<Pool, 'run'>): Listed => ({
  name,
  kind: 'local',
  async answer(request, signal) {
    try {
      return (await pool.run(request, signal)) as Envelope
    } catch (error) {
      if (error instanceof Refusal || error instanceof Failure || signal.aborted) throw error
      const message = error instanceof Error ? error.message : 'unknown'
      throw new Trouble('unavailable', message, undefined, error)
    }
  },
})
