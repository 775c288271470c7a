import type { Context } from '../context.ts'
import { clean, dollars, table } from '../terminal.ts'

export interface Endpoint {
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly price_microdollars: number
  readonly price_is_maximum: boolean
  readonly request_schema: unknown
}
export interface ServiceInfo {
  readonly slug: string
  readonly name: string
  readonly summary: string
  readonly provider: string
  readonly category: string
  readonly free_calls_per_month: number
  readonly uptime_percentage: number | null
  readonly average_latency_ms: number | null
  readonly endpoints: readonly Endpoint[]
}

/** One service: what it does, its endpoints and what they cost. */
export async function show(context: Context, slug: string): Promise<void> {
  const { terminal } = context
  const service = await serviceOf(context, slug)
  await terminal.result(service, () => text(service))
}

export async function serviceOf({ client }: Context, slug: string): Promise<ServiceInfo> {
  const { body } = await client().send(`/v1/services/${encodeURIComponent(slug)}`)
  return body as unknown as ServiceInfo
}

function text(service: ServiceInfo): string {
  const { uptime_percentage: uptime, average_latency_ms: latency } = service
  const rows = service.endpoints.map((each) => [
    each.method,
    `${service.slug}${each.path}`,
    `${each.price_is_maximum ? '≤ ' : ''}${dollars(BigInt(each.price_microdollars))}`,
    each.summary,
  ])
  const facts = [
    `by ${service.provider}`,
    service.category,
    `${service.free_calls_per_month} free calls a month`,
    uptime === null ? 'no traffic yet' : `${uptime} % up`,
    ...(latency === null ? [] : [`${latency} ms`]),
  ]
  const example = service.endpoints[0]
  return [
    clean(service.name),
    clean(service.summary),
    facts.map(clean).join(' · '),
    '',
    table(['', 'endpoint', 'price', ''], rows),
    ...(example ? ['', `Call it: hub call ${service.slug}${example.path} -d '{…}'`] : []),
  ].join('\n')
}
