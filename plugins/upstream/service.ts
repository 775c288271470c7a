import {
  type AccessToken,
  type AccessTokens,
  type AnyEndpoint,
  type AnyService,
  type Call,
  type EgressRequest,
  type EgressResponse,
  micros,
  type Reply,
  type Upstream,
  type UpstreamEndpoint,
  unitPrice,
} from 'agenthub/plugin'
import { exchange } from './exchange.ts'
import { requestsOf } from './request.ts'
import { failureOf, replyOf } from './response.ts'

/** Services by upstream, so that schemas are compiled once. */
const serviceCache = new WeakMap<Upstream, AnyService>()

/** Creates the service that sells an upstream. */
export function soldOf(upstream: Upstream): AnyService
export function soldOf(upstream: Upstream | undefined): AnyService | undefined
export function soldOf(upstream: Upstream | undefined): AnyService | undefined {
  if (!upstream) return undefined
  const before = serviceCache.get(upstream)
  if (before) return before
  const service = serviceOf(upstream)
  serviceCache.set(upstream, service)
  return service
}

const serviceOf = (upstream: Upstream): AnyService => ({
  slug: upstream.slug,
  name: upstream.name,
  category: upstream.category,
  summary: upstream.summary,
  provider: upstream.provider,
  freeCallsPerMonth: upstream.freeCallsPerMonth,
  ...(upstream.deprecated && { deprecated: upstream.deprecated }),
  endpoints: Object.fromEntries(
    upstream.endpoints.map((each) => [`${each.method} ${each.path}`, endpointOf(upstream, each)]),
  ) as AnyService['endpoints'],
})

function endpointOf(upstream: Upstream, endpoint: UpstreamEndpoint): AnyEndpoint {
  const requestOf = requestsOf(upstream, endpoint)
  const { sample } = endpoint
  return {
    summary: endpoint.summary,
    price: priceOf(endpoint),
    input: { json: { ...endpoint.input, ...(sample && { examples: [sample] }) } },
    ...(endpoint.output && { output: { json: endpoint.output } }),
    query: endpoint.query,
    ...(endpoint.encoding?.parameters && { styles: endpoint.encoding.parameters }),
    ...((endpoint.body === 'form' || endpoint.body === 'multipart') && { form: formOf(endpoint) }),
    headers: upstream.requestHeaders,
    // The hub waits a second longer, so that the timeout is attributed to the upstream.
    deadlineSeconds: endpoint.deadlineSeconds + 1,
    streams: endpoint.streams,
    prepaid: !endpoint.idempotent,
    handle: (call) => ask(upstream, endpoint, requestOf(call), call.meter),
  }
}

/** Price of a call, or the price of its units up to a maximum. */
const priceOf = ({ price: max, metered }: UpstreamEndpoint): AnyEndpoint['price'] =>
  metered
    ? { max, unit: metered.unit, of: unitPrice(micros(BigInt(metered.amount)), metered.per) }
    : max

/** Serialization of the members of a form, as `formText` and `multipartBytes` send them. */
function formOf({ input, encoding }: UpstreamEndpoint): NonNullable<AnyEndpoint['form']> {
  const names = Object.keys(input['properties'] ?? {})
  const parts = names.map((name) => {
    const { style, explode = true, contentType } = encoding?.parts?.[name] ?? {}
    const isJson = contentType?.endsWith('json') === true
    return [name, { style: style ?? (isJson ? 'json' : 'form'), explode }] as const
  })
  return Object.fromEntries(parts)
}

async function ask(
  upstream: Upstream,
  endpoint: UpstreamEndpoint,
  request: EgressRequest,
  meter: Meter,
): Promise<Reply> {
  const { tokens } = upstream
  const send = (sent: EgressRequest) => exchange(upstream.way, endpoint, sent)
  try {
    if (!tokens) return replyOf(upstream, endpoint, await send(request), meter)
    const { token, response } = await sendWithToken(tokens, request, send)
    return replyOf(hideToken(upstream, token), endpoint, response, meter)
  } catch (error) {
    throw failureOf(upstream, error)
  }
}

type Meter = Call<unknown>['meter']

/** Sends an access token; once more with another one if the API refuses a token held before. */
async function sendWithToken(
  tokens: AccessTokens,
  request: EgressRequest,
  send: (request: EgressRequest) => Promise<EgressResponse>,
) {
  for (let tries = 0; ; tries++) {
    const token = await tokens.get()
    const headers = { ...request.headers, authorization: token.authorization }
    const response = await send({ ...request, headers })
    const isLast = response.status !== UNAUTHORIZED || !tokens.discard(token) || tries > 0
    if (isLast) return { token, response }
    response.stream?.destroy()
  }
}

const UNAUTHORIZED = 401

const hidingCache = new WeakMap<AccessToken, Upstream>()

/** Adds a token to the secrets of an upstream, as the same object for the same token. */
function hideToken(upstream: Upstream, token: AccessToken): Upstream {
  const before = hidingCache.get(token)
  if (before?.endpoints === upstream.endpoints) return before
  const hiding = { ...upstream, injected: [...upstream.injected, ...token.hidden] }
  hidingCache.set(token, hiding)
  return hiding
}
