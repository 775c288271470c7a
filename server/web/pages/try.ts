import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { z } from 'zod'
import {
  findService,
  type ServiceEndpoint,
} from '../../../core/catalog/services/published-services.ts'
import { elapsedMs } from '../../../core/clock.ts'
import { canonicalJson } from '../../../core/crypto/canonical-json.ts'
import { sha256 } from '../../../core/crypto/sha256.ts'
import { Fault } from '../../../core/errors.ts'
import { findManagedCaller } from '../../../core/identity/keys.ts'
import { listUsableKeys, type UsableKey } from '../../../core/identity/usable-keys.ts'
import { isJsonObject } from '../../../core/json.ts'
import type { HttpResponse } from '../../http/http-response.ts'
import { toFault } from '../../http/problem.ts'
import type { CallRequest } from '../../proxy/call-types.ts'
import { parseMaxPrice } from '../../proxy/quote.ts'
import { callResult } from '../call-result.ts'
import { filterBar, form, formFields, selectFilter } from '../form.ts'
import { formatDollars } from '../format.ts'
import { type Html, html } from '../html.ts'
import {
  type AnyPage,
  type FormMessage,
  type FormRedirect,
  formAction,
  type PageRequest,
  page,
} from '../page.ts'
import {
  inputFieldsOf,
  inputFormFields,
  readInputFields,
  submittedInput,
  withFieldIssues,
} from '../schema-form.ts'
import { serviceSnippets } from '../snippets.ts'
import { withQuery } from '../table.ts'

export interface TryDeps {
  readonly pool: Pool
  readonly baseUrl: () => string
  readonly proxyUrl: () => string
  readonly mcpUrl: () => string
  readonly command: () => string
  /** Makes a call, with the rate limit of its caller. */
  readonly call: (request: CallRequest) => Promise<HttpResponse>
}

const Query = z.object({ endpoint: z.string().max(400).default('') })

const Fields = z.looseObject({
  endpoint: z.string().max(400),
  /** Names this run: submitting the same form again is charged once. */
  run: z.uuid(),
  key: z.string().max(40).default(''),
  max_price: z.string().max(16),
})
type Fields = z.infer<typeof Fields>

type RoutePart = Pick<ServiceEndpoint, 'method' | 'path'>

const nameOf = ({ method, path }: RoutePart): string => `${method} ${path}`

/** Path of the page that calls an endpoint. */
export const tryPath = (slug: string, endpoint: RoutePart): string =>
  withQuery(`/services/${slug}/try`, { endpoint: nameOf(endpoint) })

/** `/services/{slug}/try`: a form made from an endpoint's schema, which makes a real call. */
export const tryPage = (deps: TryDeps): AnyPage =>
  page('/services/{slug}/try', {
    query: Query,
    access: 'personal',
    actions: { run: formAction({ fields: Fields, run: (...given) => run(deps, ...given) }) },
    render: async (request) => {
      const { slug = '' } = request.params
      const { session } = request
      const [{ listing, endpoints }, keys] = await Promise.all([
        serviceOf(deps.pool, slug),
        session ? listUsableKeys(deps.pool, session.principals) : [],
      ])
      const name = request.query.endpoint || request.submission?.values['endpoint']
      const endpoint = name === undefined ? endpoints[0]! : endpointOf(endpoints, name)
      return {
        title: `Try ${listing.name}`,
        section: 'Services',
        main: html`<p class="breadcrumb"><a href="/services">Services</a> ›
<a href="/services/${slug}">${listing.name}</a></p><h1>Try ${listing.name}</h1>
<p class="lead">Fill in the form and make a real call.</p>${[
          endpoints.length > 1 && endpointChoice(slug, endpoints, endpoint),
          html`<h2><code>${nameOf(endpoint)}</code></h2><p>${endpoint.summary}</p>`,
          priceText(endpoint, listing.freeCallsPerMonth),
        ]}<div class="beside"><section>${
          keys.length > 0 || endpoint.price === 0n
            ? runForm(request, endpoint, keys)
            : nextStep(request)
        }</section><section><h3>The same call in code</h3>${codeOf(
          deps,
          slug,
          endpoint,
          submittedInput(endpoint, request.submission?.values),
        )}</section></div>`,
      }
    },
  })

const codeOf = (
  { baseUrl, proxyUrl, mcpUrl, command }: TryDeps,
  slug: string,
  { method, path }: ServiceEndpoint,
  input: unknown,
): Html =>
  serviceSnippets(
    { slug, method, path, input },
    { baseUrl: baseUrl(), proxyUrl: proxyUrl(), mcpUrl: mcpUrl(), command: command() },
  )

async function serviceOf(pool: Pool, slug: string) {
  const found = await findService(pool, slug)
  if (!found?.endpoints[0]) throw new Fault('service_not_found')
  return found
}

/** @throws Fault `not_found` */
function endpointOf(endpoints: readonly ServiceEndpoint[], name: string): ServiceEndpoint {
  const found = endpoints.find((each) => nameOf(each) === name)
  if (!found) throw new Fault('not_found', 'This service has no such endpoint.')
  return found
}

const endpointChoice = (
  slug: string,
  endpoints: readonly ServiceEndpoint[],
  current: ServiceEndpoint,
): Html => {
  const options = Object.fromEntries(endpoints.map((each) => [nameOf(each), nameOf(each)]))
  return filterBar(`/services/${slug}/try`, [
    selectFilter('endpoint', 'Endpoint', options, nameOf(current)),
  ])
}

function priceText({ price, computed }: ServiceEndpoint, freeCalls: number): Html {
  if (price === 0n) return html`<p>Calls are free.</p>`
  return html`<p><strong>${computed && 'Up to '}${formatDollars(price)}</strong> per call.
${freeCalls > 0 && html`Your ${freeCalls} free calls per month are used first. `}Failed calls are
not charged.</p>`
}

function runForm(
  { submission, path }: PageRequest,
  endpoint: ServiceEndpoint,
  keys: readonly UsableKey[],
): Html {
  const builders = formFields('run', submission)
  // A run that failed keeps its name, so that repeating it after a lost response is charged once.
  const isRepeat = submission !== undefined && submission.message !== ''
  return form({
    act: 'run',
    submit: 'Run',
    to: withQuery(path, { endpoint: nameOf(endpoint) }),
    hidden: {
      endpoint: nameOf(endpoint),
      run: (isRepeat && submission.values['run']) || randomUUID(),
      max_price: String(endpoint.price),
    },
    fields: [
      ...inputFormFields(inputFieldsOf(endpoint.inputSchema), endpoint.sample, builders),
      keys.length > 0 && builders.select(KEY_FIELD, keyOptions(keys)),
    ],
  })
}

const KEY_FIELD = {
  name: 'key',
  label: 'Key',
  required: true,
  hint: html`Pays for the call, within its limits. <a href="/account/keys">Manage keys</a> or
<a href="/topup">add credits</a>.`,
}

const keyOptions = (keys: readonly UsableKey[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    keys.map(({ id, name, balance }) => [
      id,
      `${name ?? id} (${balance === null ? 'sub-key' : formatDollars(balance)})`,
    ]),
  )

const nextStep = ({ session }: PageRequest): Html =>
  session
    ? html`<p>You need a key to make this call.</p>
<p><a class="button" href="/account/keys#make">Create a key</a></p>`
    : html`<p>Sign in to make this call with one of your keys. You need only an email
address or a wallet.</p>
<p><a class="button" href="/sign-in">Sign in</a></p>`

/** Makes the call of a submitted form, as the proxy does. @throws Fault as the call does */
async function run(
  deps: TryDeps,
  request: PageRequest,
  fields: Fields,
): Promise<FormMessage | FormRedirect> {
  const { slug = '' } = request.params
  const { endpoints } = await serviceOf(deps.pool, slug)
  const endpoint = endpointOf(endpoints, fields.endpoint)
  const { session } = request
  if (!session && fields.key !== '') return { to: '/sign-in' } // the session has ended
  const caller =
    session && fields.key !== ''
      ? await findManagedCaller(deps.pool, session.principals, fields.key)
      : undefined
  try {
    const input = readInputFields(inputFieldsOf(endpoint.inputSchema), fields)
    const start = elapsedMs()
    const response = await deps.call({
      requestId: request.requestId,
      slug,
      method: endpoint.method,
      path: endpoint.path, // with its parameters in the input
      url: () => `${deps.proxyUrl()}/${slug}${endpoint.path}`,
      query: hasQuery(endpoint) && isJsonObject(input) ? input : {},
      body: hasQuery(endpoint) ? undefined : input,
      ...(caller && { caller }),
      idempotencyKey: caller && runName(fields, input),
      authorization: undefined,
      payment: undefined,
      maxPrice: parseMaxPrice(fields.max_price),
      maxPriceName: 'the price shown',
      ip: () => request.ip,
    })
    const latencyMs = elapsedMs() - start
    return { message: await callResult({ response, latencyMs, keyId: caller?.keyId }) }
  } catch (error) {
    throw withFieldIssues(toFault(error))
  }
}

const hasQuery = ({ method }: ServiceEndpoint): boolean => method === 'GET' || method === 'DELETE'

const HASH_DIGITS = 32

/** Idempotency key of a run: other inputs of the same form are another call. */
const runName = ({ run: name, key, endpoint }: Fields, input: unknown): string =>
  `web-${name}-${sha256(canonicalJson([key, endpoint, input]))
    .toString('hex')
    .slice(0, HASH_DIGITS)}`
