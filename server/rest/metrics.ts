import { timingSafeEqual } from 'node:crypto'
import { Registry } from 'prom-client'
import { z } from 'zod'
import { sha256 } from '../../core/crypto/sha256.ts'
import { Fault } from '../../core/errors.ts'
import type { AnyService } from '../../core/plugin/index.ts'
import { cachedFor } from '../../core/runtime/cache.ts'
import type { Meters } from '../observability/meters.ts'
import { OPEN_METRICS, toOpenMetrics } from '../observability/open-metrics.ts'
import { collectGauges, type GaugesDeps } from './metrics-gauges.ts'
import { collectPluginGauges } from './plugin-gauges.ts'
import { type AnyRoute, type RestRequest, route } from './route.ts'

export interface MetricsDeps extends GaugesDeps {
  /** Bearer token; if undefined, only direct requests from this machine are allowed. */
  readonly metricsToken: string | undefined
  /** Metrics collected from all server processes. */
  readonly metricsText: () => Promise<string>
  /** Has the traces of calls of this process. */
  readonly meters: Pick<Meters, 'exemplars'>
  /** Services whose gauges are included. @defaultValue none */
  readonly plugins?: readonly AnyService[]
}

const CACHE_MS = 5_000

export function metricsRoutes(deps: MetricsDeps): readonly AnyRoute[] {
  const read = cachedFor(CACHE_MS, async () => {
    const [hub, plugins] = await Promise.all([
      collectGauges(deps),
      collectPluginGauges(deps.plugins ?? []),
    ])
    return `${hub}\n${plugins}`
  })
  return [
    route('GET /metrics', {
      summary:
        'Metrics of the hub for Prometheus; money metrics are up to 5 s old. ' +
        'As OpenMetrics, if accepted, durations of calls name their traces.',
      auth: 'none',
      unlimited: true,
      response: { status: 200, type: 'text/plain', schema: z.string() },
      faults: ['metrics_token_required', 'loopback_only'],
      handle: async (request) => {
        assertMayRead(deps.metricsToken, request)
        const text = `${await read()}\n${await deps.metricsText()}`
        const { exemplars } = deps.meters
        const isOpen = request.header('accept')?.includes('application/openmetrics-text')
        const headers = {
          'Content-Type': isOpen ? OPEN_METRICS : Registry.PROMETHEUS_CONTENT_TYPE,
          Vary: 'Accept',
        }
        return { headers, body: Buffer.from(isOpen ? toOpenMetrics(text, exemplars) : text) }
      },
    }),
  ]
}

/** @throws Fault `metrics_token_required`, `loopback_only` */
export function assertMayRead(
  token: string | undefined,
  { ip, header }: Pick<RestRequest<unknown, unknown>, 'ip' | 'header'>,
): void {
  if (token !== undefined) {
    if (equalDigests(header('authorization') ?? '', `Bearer ${token}`)) return
    const headers = { 'WWW-Authenticate': 'Bearer realm="metrics"' }
    throw new Fault('metrics_token_required', undefined, { headers })
  }
  const isForwarded = FORWARDING_HEADERS.some((name) => header(name) !== undefined)
  if (isForwarded || !LOOPBACK.test(ip)) throw new Fault('loopback_only')
}

/** Headers of a reverse proxy, which forwards requests from other machines over loopback. */
const FORWARDING_HEADERS = ['forwarded', 'x-forwarded-for', 'via'] as const
const LOOPBACK = /^(::ffff:)?127(\.\d{1,3}){3}$|^::1$/

/** Compares digests, so that timing reveals nothing about the token. */
const equalDigests = (a: string, b: string): boolean => timingSafeEqual(sha256(a), sha256(b))
