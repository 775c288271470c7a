import { unitCount } from '../../../core/money.ts'
import type { Context } from '../context.ts'
import { withSuggestion } from '../suggest.ts'
import { dollars, stripControls, table } from '../terminal.ts'

export interface Endpoint {
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly price_microdollars: number
  readonly price_is_maximum: boolean
  readonly metered?: {
    readonly unit: string
    readonly price_microdollars: number
    readonly per: number
  }
  readonly request_schema: unknown
}
export interface ServiceInfo {
  readonly slug: string
  readonly name: string
  readonly summary: string
  readonly provider: string
  readonly category: string
  readonly free_calls_per_month: number
  readonly free_units_per_month?: Readonly<Record<string, number>>
  readonly uptime_percentage: number | null
  readonly average_latency_ms: number | null
  readonly endpoints: readonly Endpoint[]
}

/** Shows one service with its endpoints and prices. */
export async function show(context: Context, slug: string): Promise<void> {
  const { terminal } = context
  const service = await fetchService(context, slug)
  await terminal.result(service, () => formatService(service))
}

export async function fetchService(context: Context, slug: string): Promise<ServiceInfo> {
  const work = context.client().send(`/v1/services/${encodeURIComponent(slug)}`)
  const { body } = await withSuggestion(context, slug, work)
  return body as unknown as ServiceInfo
}

function formatService(service: ServiceInfo): string {
  const { uptime_percentage: uptime, average_latency_ms: latency } = service
  const rows = service.endpoints.map((each) => [
    each.method,
    `${service.slug}${each.path}`,
    priceOf(each),
    describeInput(each),
    each.summary,
  ])
  const facts = [
    `by ${service.provider}`,
    service.category,
    ...freeQuotas(service),
    uptime === null ? 'no traffic yet' : `${uptime} % up`,
    ...(latency === null ? [] : [`${latency} ms`]),
  ]
  const example = service.endpoints[0]
  return [
    stripControls(service.name),
    stripControls(service.summary),
    facts.map(stripControls).join(' · '),
    '',
    table(['', 'endpoint', 'price', 'input', ''], rows),
    ...(example ? ['', `Call it: ${exampleCall(service.slug, example)}`] : []),
    'Full schemas: --json.',
  ].join('\n')
}

/** `15 free calls a month`, and the free units of metered prices; zero calls only if alone. */
function freeQuotas({ free_calls_per_month: calls, free_units_per_month = {} }: ServiceInfo) {
  const units = Object.entries(free_units_per_month)
  const quotas = units.map(([unit, count]) => `${count} free ${unit} a month`)
  return calls > 0 || units.length === 0 ? [`${calls} free calls a month`, ...quotas] : quotas
}

/** `≤ 0.01 USD`, or `≤ 0.05 USD, 0.002 USD for 1,000 tokens`. */
function priceOf({ price_is_maximum, price_microdollars, metered }: Endpoint): string {
  const price = `${price_is_maximum ? '≤ ' : ''}${dollars(BigInt(price_microdollars))}`
  if (!metered) return price
  const { unit, per } = metered
  const unitPrice = dollars(BigInt(metered.price_microdollars))
  return stripControls(`${price}, ${unitPrice} for ${unitCount(per, unit)}`)
}

interface ObjectSchema {
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, { readonly type?: string }>>
}

const inputFields = ({ request_schema: schema }: Endpoint) => {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema
  return Object.entries(properties).map(([name, { type }]) => {
    return { name, type, isRequired: required.includes(name) }
  })
}

/** Describes the input: field names, with a question mark after optional ones. */
const describeInput = (endpoint: Endpoint): string =>
  inputFields(endpoint)
    .map(({ name, isRequired }) => (isRequired ? name : `${name}?`))
    .join(' ')

const SAMPLES: Readonly<Record<string, unknown>> = { number: 1, integer: 1, boolean: true }

/** Builds an example command with a value for each required field. */
function exampleCall(slug: string, endpoint: Endpoint): string {
  const needed = inputFields(endpoint).filter(({ isRequired }) => isRequired)
  const command = `hub call ${slug}${endpoint.path}`
  if (endpoint.method === 'GET' || endpoint.method === 'DELETE') {
    return [command, ...needed.map(({ name }) => `-q ${name}=…`)].join(' ')
  }
  const sample = needed.map(({ name, type = '' }) => {
    return [name, SAMPLES[type] ?? (type === 'array' ? ['…'] : '…')]
  })
  return `${command} -d '${JSON.stringify(Object.fromEntries(sample))}'`
}
