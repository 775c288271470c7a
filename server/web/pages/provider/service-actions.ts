import { z } from 'zod'
import { Fault } from '../../../../core/errors.ts'
import { confirmedCheckbox, optionalDollars, textOrUndefined } from '../../form-schemas.ts'
import { html } from '../../html.ts'
import { flashMessage } from '../../messages.ts'
import { type FormAction, formAction, type PageRequest } from '../../page.ts'
import type { ServiceJson } from './services.ts'

const noticeRedirect = ({ path }: PageRequest, done: string) => ({ to: `${path}?done=${done}` })

/** Notice of a saved change, or that it awaits approval. */
const savedRedirect = (request: PageRequest, done: string, { state, review }: ServiceJson) =>
  noticeRedirect(request, state !== 'pending' && review.waiting ? 'submitted' : done)

const activateAction = formAction({
  fields: z.object({ waive_tests: z.string().optional() }),
  run: async (request, { waive_tests: waive }) => {
    const { api, params } = request
    const route = 'POST /v1/provider/services/{slug}/activate'
    const body = { waive_tests: waive === 'on' }
    const service = await api<ServiceJson>(route, { params, body })
    return noticeRedirect(request, service.state)
  },
})

const pauseAction = formAction({
  run: async (request) => {
    const { api, params } = request
    const route = 'POST /v1/provider/services/{slug}/pause'
    const service = await api<ServiceJson>(route, { params })
    return noticeRedirect(request, service.state)
  },
})

/** Parses a JSON field; undefined if empty. @throws Fault `validation_failed`, at the field */
function parseJsonField(text: string, name: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Fault('validation_failed', 'This is not valid JSON.', {
      extras: { issues: [{ path: `/${name}`, message: 'is not valid JSON' }] },
      cause: error,
    })
  }
}

type Endpoint = ServiceJson['endpoints'][number]

/** Endpoint as REST accepts it. Without a price, its current price stays. */
function asInput(endpoint: Endpoint): Partial<Endpoint> {
  const input: { -readonly [Name in keyof Endpoint]?: Endpoint[Name] } = { ...endpoint }
  delete input.price_microdollars
  delete input.coming_price
  return input
}

const nameOf = ({ method, path }: Pick<Endpoint, 'method' | 'path'>) => `${method} ${path}`

/** Reads all endpoints, changes them and writes them back, because REST replaces all of them. */
async function updateEndpoints(
  request: PageRequest,
  change: (endpoints: readonly Endpoint[]) => readonly unknown[],
  done: string,
) {
  const { api, params } = request
  const service = await api<ServiceJson>('GET /v1/provider/services/{slug}', { params })
  const body = { endpoints: change(service.endpoints) }
  const route = 'PUT /v1/provider/services/{slug}/endpoints'
  const saved = await api<ServiceJson>(route, { params, body })
  return done === 'priced' ? noticeRedirect(request, done) : savedRedirect(request, done, saved)
}

const EndpointFields = z.object({
  was: z.string().default(''),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z.string().trim(),
  summary: z.string().trim(),
  price: optionalDollars,
  input_schema: z.string().max(100_000).default(''),
  output_schema: z.string().max(100_000).default(''),
})

const endpointActions: Readonly<Record<string, FormAction>> = {
  price: formAction({
    fields: z.object({ endpoint: z.string(), price: optionalDollars }),
    run: (request, { endpoint, price }) =>
      updateEndpoints(
        request,
        (endpoints) =>
          endpoints.map((each) => ({
            ...asInput(each),
            ...(nameOf(each) === endpoint && { price_microdollars: price ?? undefined }),
          })),
        'priced',
      ),
  }),
  endpoint: formAction({
    fields: EndpointFields,
    run: (request, { was, price, ...fields }) => {
      const input = {
        method: fields.method,
        path: fields.path,
        summary: fields.summary,
        price_microdollars: price ?? undefined,
        input_schema: parseJsonField(fields.input_schema, 'input_schema'),
        output_schema: parseJsonField(fields.output_schema, 'output_schema'),
      }
      return updateEndpoints(
        request,
        (endpoints) =>
          endpoints.some((each) => nameOf(each) === was)
            ? endpoints.map((each) =>
                nameOf(each) === was
                  ? { ...mergedInput(each, fields.path), ...input }
                  : asInput(each),
              )
            : [...endpoints.map(asInput), input],
        'endpoints',
      )
    },
  }),
  drop: formAction({
    fields: z.object({ endpoint: z.string() }),
    run: (request, { endpoint }) =>
      updateEndpoints(
        request,
        (endpoints) => endpoints.filter((each) => nameOf(each) !== endpoint).map(asInput),
        'endpoints',
      ),
  }),
}

/** Keeps members that the form lacks. The upstream path follows the path if both were equal. */
function mergedInput(endpoint: Endpoint, path: string) {
  const { upstream_path: upstreamPath } = endpoint
  return {
    ...asInput(endpoint),
    upstream_path: upstreamPath === endpoint.path ? path : upstreamPath,
  }
}

interface TestResultJson {
  readonly delivered: boolean
  readonly reason: string | null
  readonly detail: string | null
  readonly latency_ms: number
  readonly status: number
  readonly body: unknown
}

const testAction = formAction({
  fields: z.object({ endpoint: z.string(), input: z.string().max(100_000).default('') }),
  run: async ({ api, params }, { endpoint, input }) => {
    const body = { endpoint, input: parseJsonField(input, 'input') ?? {} }
    const result = await api<TestResultJson>('POST /v1/provider/services/{slug}/test', {
      params,
      body,
    })
    const { delivered, reason, detail, latency_ms: latency, status } = result
    return {
      message: flashMessage(
        delivered ? 'good' : 'bad',
        html`<p><strong>${
          delivered
            ? 'Success: a caller would have been charged.'
            : 'Failed: a caller would not have been charged.'
        }</strong> Status ${status}, ${latency}
ms${reason !== null && html`, <code>${reason}</code>`}.
${detail}</p><pre tabindex="0"><code>${JSON.stringify(result.body, null, 2)}</code></pre>`,
      ),
    }
  },
})

/** Form actions of a provider's service. */
export const serviceActions: Readonly<Record<string, FormAction>> = {
  ...endpointActions,
  test: testAction,
  activate: activateAction,
  pause: pauseAction,
  withdraw: formAction({
    run: async (request) => {
      const { api, params } = request
      await api('POST /v1/provider/services/{slug}/withdraw', { params })
      return noticeRedirect(request, 'withdrawn')
    },
  }),
  retire: formAction({
    fields: z.object({ sunset: z.string().default(''), sure: confirmedCheckbox }),
    run: async (request, { sunset }) => {
      const { api, params } = request
      const body = sunset === '' ? {} : { sunset }
      await api('POST /v1/provider/services/{slug}/retire', { params, body })
      return noticeRedirect(request, 'retired')
    },
  }),
  secret: formAction({
    fields: z.object({ name: z.string().trim(), value: z.string().trim() }),
    run: async (request, { name, value }) => {
      const { api, params } = request
      const secrets = value === '' ? [] : [{ in: 'header', name, value }]
      await api('PUT /v1/provider/services/{slug}/secret', { params, body: { secrets } })
      return noticeRedirect(request, 'secret')
    },
  }),
  oauth2: formAction({
    fields: z.object({
      token_url: z.string().trim(),
      client_id: z.string().trim(),
      client_secret: z.string().trim(),
      scope: textOrUndefined,
      audience: textOrUndefined,
      client_authentication: z.enum(['basic', 'body']),
    }),
    run: async (request, fields) => {
      const { api, params } = request
      const body = { secrets: [{ in: 'oauth2', ...fields }] }
      await api('PUT /v1/provider/services/{slug}/secret', { params, body })
      return noticeRedirect(request, 'secret')
    },
  }),
  change: formAction({
    fields: z.object({
      name: z.string().trim(),
      category: z.string().trim(),
      summary: z.string().trim(),
      base_url: z.string().trim(),
      free_calls_per_month: z
        .string()
        .regex(/^\d{1,7}$/, 'enter a whole number')
        .transform(Number),
    }),
    run: async (request, body) => {
      const { api, params } = request
      const route = 'PATCH /v1/provider/services/{slug}'
      return savedRedirect(request, 'changed', await api<ServiceJson>(route, { params, body }))
    },
  }),
}
