import { z } from 'zod'
import { Fault } from '../../../../core/errors.ts'
import { optionalDollars, ticked } from '../../fields.ts'
import { html } from '../../html.ts'
import { outcome } from '../../notices.ts'
import { type Act, act, type PageRequest } from '../../page.ts'
import type { ServiceJson } from './services.ts'

const back = ({ params }: Pick<PageRequest, 'params'>, done: string) => ({
  to: `/provider/services/${params['slug'] ?? ''}?done=${done}`,
})

const state = (name: 'activate' | 'pause'): Act =>
  act({
    fields: z.object({}),
    run: async (request) => {
      const { ask, params } = request
      const route = `POST /v1/provider/services/{slug}/${name}`
      const service = await ask<ServiceJson>(route, { params })
      return back(request, service.state)
    },
  })

/** A field that holds JSON: '' is nothing. @throws Fault `validation_failed`, at the field */
function jsonIn(text: string, name: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Fault('validation_failed', 'That is no JSON.', {
      extras: { issues: [{ path: `/${name}`, message: 'is no JSON' }] },
      cause: error,
    })
  }
}

type Endpoint = ServiceJson['endpoints'][number]

/** An endpoint as it is, to be written again: prices that are left out stay. */
function asOrder(endpoint: Endpoint): Partial<Endpoint> {
  const order: { -readonly [Name in keyof Endpoint]?: Endpoint[Name] } = { ...endpoint }
  delete order.price_microdollars
  delete order.coming_price
  return order
}

const nameOf = ({ method, path }: Pick<Endpoint, 'method' | 'path'>) => `${method} ${path}`

/** Endpoints are written all at once: the others are read first, and stay as they are. */
async function rewrite(
  request: PageRequest,
  change: (endpoints: readonly Endpoint[]) => readonly unknown[],
  done: string,
) {
  const { ask, params } = request
  const service = await ask<ServiceJson>('GET /v1/provider/services/{slug}', { params })
  const body = { endpoints: change(service.endpoints) }
  await ask('PUT /v1/provider/services/{slug}/endpoints', { params, body })
  return back(request, done)
}

const Fields = z.object({
  was: z.string().default(''),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z.string().trim(),
  summary: z.string().trim(),
  price: optionalDollars,
  input_schema: z.string().max(100_000).default(''),
  output_schema: z.string().max(100_000).default(''),
})

const endpointActs: Readonly<Record<string, Act>> = {
  price: act({
    fields: z.object({ endpoint: z.string(), price: optionalDollars }),
    run: (request, { endpoint, price }) =>
      rewrite(
        request,
        (endpoints) =>
          endpoints.map((each) => ({
            ...asOrder(each),
            ...(nameOf(each) === endpoint && { price_microdollars: price ?? undefined }),
          })),
        'priced',
      ),
  }),
  endpoint: act({
    fields: Fields,
    run: (request, { was, price, ...fields }) => {
      const order = {
        method: fields.method,
        path: fields.path,
        summary: fields.summary,
        price_microdollars: price ?? undefined,
        input_schema: jsonIn(fields.input_schema, 'input_schema'),
        output_schema: jsonIn(fields.output_schema, 'output_schema'),
      }
      return rewrite(
        request,
        (endpoints) =>
          endpoints.some((each) => nameOf(each) === was)
            ? endpoints.map((each) =>
                nameOf(each) === was ? { ...changed(each, fields.path), ...order } : asOrder(each),
              )
            : [...endpoints.map(asOrder), order],
        'endpoints',
      )
    },
  }),
  drop: act({
    fields: z.object({ endpoint: z.string() }),
    run: (request, { endpoint }) =>
      rewrite(
        request,
        (endpoints) => endpoints.filter((each) => nameOf(each) !== endpoint).map(asOrder),
        'endpoints',
      ),
  }),
}

/** What the form does not have stays; where it is asked follows the path, if it did before. */
function changed(endpoint: Endpoint, path: string) {
  const { upstream_path: place } = endpoint
  return { ...asOrder(endpoint), upstream_path: place === endpoint.path ? path : place }
}

interface Tried {
  readonly delivered: boolean
  readonly reason: string | null
  readonly detail: string | null
  readonly latency_ms: number
  readonly status: number
  readonly body: unknown
}

const test = act({
  fields: z.object({ endpoint: z.string(), input: z.string().max(100_000).default('') }),
  run: async ({ ask, params }, { endpoint, input }) => {
    const body = { endpoint, input: jsonIn(input, 'input') ?? {} }
    const tried = await ask<Tried>('POST /v1/provider/services/{slug}/test', { params, body })
    const { delivered, reason, detail, latency_ms: latency, status } = tried
    return {
      told: outcome(
        delivered ? 'good' : 'bad',
        html`<p><strong>${
          delivered ? 'A caller would have been charged.' : 'A caller would have paid nothing.'
        }</strong> Status ${status}, ${latency}
ms${reason !== null && html`, <code>${reason}</code>`}.
${detail}</p><pre tabindex="0"><code>${JSON.stringify(tried.body, null, 2)}</code></pre>`,
      ),
    }
  },
})

/** What can be done with a service of one's own. */
export const serviceActs: Readonly<Record<string, Act>> = {
  ...endpointActs,
  test,
  activate: state('activate'),
  pause: state('pause'),
  retire: act({
    fields: z.object({
      sunset: z.string().default(''),
      sure: ticked.refine((sure) => sure, 'has to be ticked'),
    }),
    run: async (request, { sunset }) => {
      const { ask, params } = request
      const body = sunset === '' ? {} : { sunset }
      await ask('POST /v1/provider/services/{slug}/retire', { params, body })
      return back(request, 'retired')
    },
  }),
  secret: act({
    fields: z.object({ name: z.string().trim(), value: z.string().trim() }),
    run: async (request, { name, value }) => {
      const { ask, params } = request
      const secrets = value === '' ? [] : [{ in: 'header', name, value }]
      await ask('PUT /v1/provider/services/{slug}/secret', { params, body: { secrets } })
      return back(request, 'secret')
    },
  }),
  change: act({
    fields: z.object({
      name: z.string().trim(),
      category: z.string().trim(),
      summary: z.string().trim(),
      base_url: z.string().trim(),
      free_calls_per_month: z
        .string()
        .regex(/^\d{1,7}$/, 'a whole number')
        .transform(Number),
    }),
    run: async (request, body) => {
      await request.ask('PATCH /v1/provider/services/{slug}', { params: request.params, body })
      return back(request, 'changed')
    },
  }),
}
