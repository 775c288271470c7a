import { performance } from 'node:perf_hooks'
import { parentPort } from 'node:worker_threads'
import { Refusal } from 'agenthub/plugin'
import { envelopeOf } from '../envelope.ts'
import { readRequest } from '../request.ts'
import type { WorkerResult } from '../worker-pool.ts'
import type { OnnxJob } from './index.ts'
import { PACKAGE, type Pipelines, pipelinesOf, type Transformers } from './pipelines.ts'
import { runOnnx } from './run.ts'

let pipelines: Pipelines | undefined

const resultOf = async ({ settings, request }: OnnxJob): Promise<WorkerResult> => {
  const began = performance.now()
  try {
    pipelines ??= pipelinesOf((await import(PACKAGE)) as Transformers, settings)
    const parsed = readRequest(request)
    return { value: envelopeOf(parsed, await runOnnx(pipelines, settings, parsed), began) }
  } catch (error) {
    if (error instanceof Refusal) {
      return { refusal: { code: error.code, detail: error.message, extras: error.extras } }
    }
    return { failure: error instanceof Error ? error.message : 'unknown' }
  }
}

const post = (message: WorkerResult | 'ready'): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  parentPort?.postMessage(message)
}

parentPort?.on('message', (job: OnnxJob) => void resultOf(job).then(post))
post('ready')
