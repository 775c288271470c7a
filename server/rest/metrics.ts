import { createHash, timingSafeEqual } from 'node:crypto'
import { Registry } from 'prom-client'
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { WalletBalancesDeps } from '../../core/payments/operations/wallet-balances.ts'
import { cachedFor } from '../../core/runtime/cache.ts'
import { collectGauges } from './metrics-figures.ts'
import { type AnyRoute, type RestRequest, route } from './route.ts'

export interface MetricsDeps extends WalletBalancesDeps {
  /** Who shows it may read; undefined: this machine may, asked directly. */
  readonly metricsToken: string | undefined
  /** What the processes that serve have counted. */
  readonly counted: () => Promise<string>
}

const CACHE_MS = 5_000

/** For a Prometheus server. */
export function metricsRoutes(ports: MetricsDeps): readonly AnyRoute[] {
  const read = cachedFor(CACHE_MS, () => collectGauges(ports))
  return [
    route({
      method: 'GET',
      path: '/metrics',
      summary:
        'Figures of the hub and its processes, for Prometheus; those of money up to 5 s old.',
      auth: 'none',
      unlimited: true,
      response: { status: 200, type: 'text/plain', schema: z.string() },
      faults: ['metrics_token_required', 'loopback_only'],
      handle: async (request) => {
        assertMayRead(ports.metricsToken, request)
        const text = `${await read()}\n${await ports.counted()}`
        const headers = { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE }
        return { headers, body: Buffer.from(text) }
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
    if (equalsInConstantTime(header('authorization') ?? '', `Bearer ${token}`)) return
    const headers = { 'WWW-Authenticate': 'Bearer realm="metrics"' }
    throw new Fault('metrics_token_required', undefined, { headers })
  }
  const isForwarded = FORWARDING_HEADERS.some((name) => header(name) !== undefined)
  if (isForwarded || !LOOPBACK.test(ip)) throw new Fault('loopback_only')
}

/** A reverse proxy on this machine speaks for anybody. */
const FORWARDING_HEADERS = ['forwarded', 'x-forwarded-for', 'via'] as const
const LOOPBACK = /^(::ffff:)?127(\.\d{1,3}){3}$|^::1$/

/** In the same time whatever was shown. */
const equalsInConstantTime = (shown: string, wanted: string): boolean =>
  timingSafeEqual(sha256(shown), sha256(wanted))

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
