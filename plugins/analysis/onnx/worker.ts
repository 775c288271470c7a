import { performance } from 'node:perf_hooks'
import { parentPort } from 'node:worker_threads'
import { Refusal } from 'agenthub/plugin'
import { envelopeOf } from '../answer.ts'
import type { Outcome } from '../pool.ts'
import { readRequest } from '../request.ts'
import type { OnnxJob } from './index.ts'
import { PACKAGE, type Pipelines, pipelinesOf, type Transformers } from './pipelines.ts'
import { readBy } from './read.ts'

let pipelines: Pipelines | undefined

const outcomeOf = async ({ settings, request }: OnnxJob): Promise<Outcome> => {
  const began = performance.now()
  try {
    pipelines ??= pipelinesOf((await import(PACKAGE)) as Transformers, settings)
    const asked = readRequest(request)
    return { value: envelopeOf(asked, await readBy(pipelines, settings, asked), began) }
  } catch (error) {
    if (error instanceof Refusal) {
      return { refusal: { code: error.code, detail: error.message, extras: error.extras } }
    }
    return { failure: error instanceof Error ? error.message : 'unknown' }
  }
}

const tell = (message: Outcome | 'ready'): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  parentPort?.postMessage(message)
}

parentPort?.on('message', (job: OnnxJob) => void outcomeOf(job).then(tell))
tell('ready')
