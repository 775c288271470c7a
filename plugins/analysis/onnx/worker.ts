import { performance } from 'node:perf_hooks'
import { envelopeOf } from '../envelope.ts'
import { readRequest } from '../request.ts'
import { serveJobs } from '../serve-jobs.ts'
import type { OnnxJob } from './index.ts'
import { PACKAGE, type Pipelines, pipelinesOf, type Transformers } from './pipelines.ts'
import { runOnnx } from './run.ts'

let pipelines: Pipelines | undefined

await serveJobs(async ({ settings, request }: OnnxJob) => {
  const began = performance.now()
  pipelines ??= pipelinesOf((await import(PACKAGE)) as Transformers, settings)
  const parsed = readRequest(request)
  return envelopeOf(parsed, await runOnnx(pipelines, settings, parsed), began)
})
