import { embedded } from './embedded.ts'
import { answer } from './envelope.ts'
import type { Request } from './request.ts'
import { serveJobs } from './serve-jobs.ts'

// Loads the models before the first request, whose deadline is short.
const WARM_UP = (['extract-entities', 'sentiment'] as const).map(
  (endpoint): Request => ({ id: '', endpoint, input: { text: 'Warm words.' } }),
)

await serveJobs((request: Request) => answer(embedded, request), WARM_UP)
