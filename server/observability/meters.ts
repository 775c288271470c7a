import type { Pool } from 'pg'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Trace } from './trace.ts'

const DURATION_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
]
const BATCH_SIZE_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]
/** Each name of a service is a set of series: those beyond are counted together. */
const SERVICES_MAX = 200

/** What this process has counted since it began, for Prometheus. */
export class Meters {
  readonly #registry = new Registry()
  readonly #requests: Counter<'route' | 'method' | 'status'>
  readonly #calls: Histogram<'service'>
  readonly #steps: Histogram<'step'>
  readonly #refused: Counter<'policy'>
  readonly #batches: Histogram
  readonly #services = new Set<string>()

  constructor() {
    const registers = [this.#registry]
    this.#requests = new Counter({
      name: 'hub_http_requests_total',
      help: 'Requests that were answered; status 499: the caller went away before.',
      labelNames: ['route', 'method', 'status'],
      registers,
    })
    this.#calls = new Histogram({
      name: 'hub_call_seconds',
      help: 'Calls of a service, from the first byte asked to the last one answered.',
      labelNames: ['service'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    })
    this.#steps = new Histogram({
      name: 'hub_step_seconds',
      help: 'Steps of requests.',
      labelNames: ['step'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    })
    this.#refused = new Counter({
      name: 'hub_rate_limited_total',
      help: 'Requests that came too often.',
      labelNames: ['policy'],
      registers,
    })
    this.#batches = new Histogram({
      name: 'hub_ledger_batch_operations',
      help: 'Operations that the ledger booked together.',
      buckets: BATCH_SIZE_BUCKETS,
      registers,
    })
  }

  recordRequest(trace: Trace, method: string, status: number, seconds: number): void {
    this.#requests.inc({ route: trace.route, method: methodLabel(method), status })
    if (trace.service !== undefined) {
      this.#calls.observe({ service: this.#serviceLabel(trace.service) }, seconds)
    }
    for (const { name, start: from, end: until } of trace.steps) {
      this.#steps.observe({ step: name }, (until - from) / 1_000)
    }
  }

  recordRateLimited(policy: string): void {
    this.#refused.inc({ policy })
  }

  recordBatch(operations: number): void {
    this.#batches.observe(operations)
  }

  /** Shows how many connections of a pool there are, and how many wait for one. */
  watchPools(pools: Readonly<Record<string, Pool>>): void {
    const gauge = new Gauge({
      name: 'hub_pool_connections',
      help: 'Connections to the database; waiting: requests that wait for one.',
      labelNames: ['pool', 'state'],
      registers: [],
      collect() {
        for (const [name, pool] of Object.entries(pools)) {
          this.set({ pool: name, state: 'busy' }, pool.totalCount - pool.idleCount)
          this.set({ pool: name, state: 'idle' }, pool.idleCount)
          this.set({ pool: name, state: 'waiting' }, pool.waitingCount)
        }
      },
    })
    this.#registry.registerMetric(gauge)
  }

  /** Those of this hub, and those of its process: memory, the lag of the event loop, and such. */
  get registries(): readonly Registry[] {
    return [this.#registry, processMetrics()]
  }

  async text(): Promise<string> {
    const texts = await Promise.all(this.registries.map((registry) => registry.metrics()))
    return texts.join('\n')
  }

  #serviceLabel(service: string): string {
    if (this.#services.size < SERVICES_MAX) this.#services.add(service)
    return this.#services.has(service) ? service : 'other'
  }
}

const METHODS = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/
const methodLabel = (method: string): string => (METHODS.test(method) ? method : 'other')

let processRegistry: Registry | undefined

/** One for the process, whichever hub in it is asked. */
function processMetrics(): Registry {
  if (processRegistry === undefined) {
    processRegistry = new Registry()
    collectDefaultMetrics({ register: processRegistry })
  }
  return processRegistry
}
