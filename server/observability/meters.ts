import type { Pool } from 'pg'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { systemClock } from '../../core/clock.ts'
import type { Outages } from '../../core/outages.ts'
import { DurationHistogram } from './duration-histogram.ts'
import type { Exemplar } from './open-metrics.ts'
import type { Trace } from './trace.ts'
import { unhandledErrorMetrics } from './unhandled-errors.ts'

const DURATION_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
]
const BATCH_SIZE_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]
/** Maximum services with series of their own; the others are counted together. */
const SERVICES_MAX = 200

interface MeasuredRequest {
  readonly method: string
  readonly status: number
  readonly seconds: number
  /** Trace of the request if it is exported. */
  readonly traceId: string | undefined
}

interface RequestCount {
  readonly labels: { readonly route: string; readonly method: string; readonly status: number }
  count: number
}

export class Meters {
  readonly #registry = new Registry()
  readonly #requests = new Map<string, RequestCount>()
  readonly #calls: DurationHistogram
  readonly #steps: DurationHistogram
  readonly #refused: Counter<'policy'>
  readonly #cut: Counter<'reason'>
  readonly #batches: Histogram
  readonly #services = new Set<string>()
  /** The newest call of each bucket of `hub_call_seconds` whose trace is exported, by series. */
  readonly exemplars = new Map<string, Exemplar>()

  constructor(version = 'unknown') {
    const registers = [this.#registry]
    reportBuild(this.#registry, version)
    countRequests(this.#registry, this.#requests)
    const durations = { bounds: DURATION_BUCKETS_SECONDS, registry: this.#registry }
    this.#calls = new DurationHistogram({
      name: 'hub_call_seconds',
      help: 'Duration of calls, from the first byte of the request to the last of the response.',
      label: 'service',
      ...durations,
    })
    this.#steps = new DurationHistogram({
      name: 'hub_step_seconds',
      help: 'Duration of the steps of requests.',
      label: 'step',
      ...durations,
    })
    this.#refused = new Counter({
      name: 'hub_rate_limited_total',
      help: 'Requests refused by rate limits.',
      labelNames: ['policy'],
      registers,
    })
    this.#cut = new Counter({
      name: 'hub_connections_cut_total',
      help: 'Connections cut because their clients were too slow or held too much memory.',
      labelNames: ['reason'],
      registers,
    })
    this.#batches = new Histogram({
      name: 'hub_ledger_batch_operations',
      help: 'Ledger operations per batch.',
      buckets: BATCH_SIZE_BUCKETS,
      registers,
    })
  }

  recordRequest(trace: Trace, { method, status, seconds, traceId }: MeasuredRequest): void {
    this.#countRequest(trace.route, methodLabel(method), status)
    if (trace.service !== undefined) {
      const service = this.#serviceLabel(trace.service)
      this.#calls.observe(service, seconds)
      if (traceId !== undefined) this.#keepExemplar(service, seconds, traceId)
    }
    for (const { name, start: from, end: until } of trace.steps) {
      this.#steps.observe(name, (until - from) / 1_000)
    }
  }

  recordRateLimited(policy: string): void {
    this.#refused.inc({ policy })
  }

  recordCut(reason: string): void {
    this.#cut.inc({ reason })
  }

  recordBatch(operations: number): void {
    this.#batches.observe(operations)
  }

  /** Reports the connections of each pool, and the requests that wait for one. */
  watchPools(pools: Readonly<Record<string, Pool>>): void {
    const gauge = new Gauge({
      name: 'hub_pool_connections',
      help: 'Database connections by state; waiting: requests that wait for one.',
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

  /** Reports the components that failed since the start, such as Redis or the node. */
  watchOutages(outages: Pick<Outages, 'states'>): void {
    const gauge = new Gauge({
      name: 'hub_component_failing',
      help: 'Processes in which a component fails now; 0: it works again.',
      labelNames: ['component'],
      registers: [],
      collect() {
        this.reset()
        for (const { component, failing } of outages.states()) {
          this.set({ component }, failing ? 1 : 0)
        }
      },
    })
    this.#registry.registerMetric(gauge)
  }

  /** Registries of this hub and of its process (memory, event loop lag and such). */
  get registries(): readonly Registry[] {
    return [this.#registry, processMetrics()]
  }

  async text(): Promise<string> {
    const texts = await Promise.all(this.registries.map((registry) => registry.metrics()))
    return [...texts, await unhandledErrorMetrics()].join('\n')
  }

  #countRequest(route: string, method: string, status: number): void {
    const key = `${method} ${status} ${route}`
    const known = this.#requests.get(key)
    if (known) known.count++
    else this.#requests.set(key, { labels: { route, method, status }, count: 1 })
  }

  #keepExemplar(service: string, value: number, traceId: string): void {
    const bound = DURATION_BUCKETS_SECONDS.find((each) => value <= each) ?? '+Inf'
    const series = `hub_call_seconds_bucket{le="${bound}",service="${service}"}`
    this.exemplars.set(series, { traceId, value, seconds: systemClock.now().getTime() / 1_000 })
  }

  #serviceLabel(service: string): string {
    if (this.#services.size < SERVICES_MAX) this.#services.add(service)
    return this.#services.has(service) ? service : 'other'
  }
}

/** Reports counts of requests: prom-client's own counter hashes the labels of each request. */
function countRequests(registry: Registry, requests: ReadonlyMap<string, RequestCount>): void {
  const counter = new Counter({
    name: 'hub_http_requests_total',
    help: 'HTTP requests by route, method and status; 499: the client disconnected.',
    labelNames: ['route', 'method', 'status'],
    registers: [],
    collect() {
      this.reset()
      for (const { labels, count } of requests.values()) this.inc(labels, count)
    },
  })
  registry.registerMetric(counter)
}

/** Reports what runs, so that a dashboard shows upgrades. */
function reportBuild(registry: Registry, version: string): void {
  const name = 'hub_build_info'
  const help = '1; its labels are the versions of the hub and of Node.'
  const labelNames = ['version', 'node'] as const
  const gauge = new Gauge({ name, help, labelNames, registers: [registry] })
  gauge.set({ version, node: process.versions.node }, 1)
}

const METHODS = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/
const methodLabel = (method: string): string => (METHODS.test(method) ? method : 'other')

let processRegistry: Registry | undefined

/** Returns the process metrics, shared by all hubs in this process. */
function processMetrics(): Registry {
  if (processRegistry === undefined) {
    processRegistry = new Registry()
    collectDefaultMetrics({ register: processRegistry })
  }
  return processRegistry
}
