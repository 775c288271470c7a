import type { Pool } from 'pg'
import { findSlugOfHost } from '../../../core/catalog/domains/store.ts'
import type { Catalog, Offering } from '../../../core/catalog/services/catalog.ts'
import { Fault } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { json } from '../../../core/money.ts'
import * as s from '../../../core/plugin/schema.ts'
import type { CallDeps } from '../../proxy/call-deps.ts'
import { parseDollars } from '../dollars.ts'
import { makePaidCall } from '../paid-call.ts'
import { failureResult } from '../results.ts'
import { type AnyTool, defineTool, SPENDING } from '../tool.ts'
import { dryRun, idempotencyKey, maxChars, maxPrice, offset, PAID_RESULT, slug } from './schemas.ts'

export interface PaidToolDeps {
  readonly pool: Pool
  readonly callDeps: CallDeps
  readonly catalog: Pick<Catalog, 'find'>
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const url = (description: string) => s.string({ minLength: 1, maxLength: 2_048, description })

const CALL_INPUT: s.Schema<JsonObject> = {
  json: { type: 'object', description: 'Matches its input schema.' },
}

/** `hub_call`: calls an endpoint of a native service. */
export const callTool = ({ callDeps, catalog }: PaidToolDeps): AnyTool =>
  defineTool({
    name: 'hub_call',
    title: 'Call a service',
    description:
      'Calls an endpoint of a native service and pays its listed price: free calls first, then ' +
      'credits. Failed calls are not charged. See hub_get_service for endpoint and input. ' +
      'Example: {"service":"analysis","endpoint":"POST /sentiment","input":{"text":"…"},' +
      '"max_price_usd":"0.01","idempotency_key":"…"}. Results say what was charged, errors what ' +
      'to change; without credits see hub_topup.',
    annotations: SPENDING,
    input: s.object({
      service: slug('Slug of the service.'),
      endpoint: s.string({
        minLength: 1,
        maxLength: 300,
        description: 'As in hub_get_service: "POST /path", or "/path".',
      }),
      input: s.optional(CALL_INPUT),
      max_price_usd: s.optional(s.string(maxPrice)),
      idempotency_key: idempotencyKey,
      dry_run: dryRun,
      max_chars: maxChars,
      offset,
    }),
    output: PAID_RESULT,
    run: async ({ service, endpoint, input, ...rest }, context) => {
      if (callDeps.creditsOnly.has(service)) return useExternalTool()
      const { method, path } = routeOf(endpoint, await catalog.find(service))
      const queryInput = method === 'GET' || method === 'DELETE' ? { query: { ...input } } : {}
      const target = {
        tool: 'hub_call',
        slug: service,
        method,
        path,
        body: input ?? {},
        ...queryInput,
      }
      return makePaidCall(callDeps, { ...target, ...rest }, context)
    },
  })

/** `hub_call_external`: calls an external seller, paid from the caller's credits. */
export const externalCallTool = ({ callDeps }: PaidToolDeps): AnyTool =>
  defineTool({
    name: 'hub_call_external',
    title: 'Call an external x402 API',
    description:
      'Calls any URL that charges by x402; the hub pays the seller in USDC and charges your ' +
      'credits exactly that (hub_topup). Find URLs with hub_search_external. If the ' +
      'outcome of a payment is unknown, the money is held until the chain shows it, and the ' +
      'result says so. For native services use hub_call.',
    annotations: { ...SPENDING, destructiveHint: true },
    input: s.object({
      url: url('Full URL of the paid resource.'),
      method: s.optional(s.oneOf(METHODS, { description: 'Default GET.' })),
      headers: s.optional(s.record(s.string())),
      body: s.optional(s.unknown({ description: 'A string is sent unchanged, all else as JSON.' })),
      accept_pay_to: s.optional(
        s.string({
          minLength: 42,
          maxLength: 42,
          description: 'After pay_to_changed: the new payee address, once verified.',
        }),
      ),
      max_price_usd: s.string(maxPrice),
      idempotency_key: idempotencyKey,
      dry_run: dryRun,
      max_chars: maxChars,
      offset,
    }),
    output: PAID_RESULT,
    run: ({ url: resource, method, headers, body, accept_pay_to: payTo, ...rest }, context) => {
      const max = parseDollars(rest.max_price_usd)
      const request = {
        url: resource,
        ...(method !== undefined && { method }),
        ...(headers !== undefined && { headers }),
        ...(body !== undefined && { body }),
        ...(payTo !== undefined && { accept_pay_to: payTo }),
        ...(max > 0n && { max_price_microdollars: json(max) }),
      }
      const target = { tool: 'hub_call_external', slug: 'external', method: 'POST', path: '/' }
      return makePaidCall(callDeps, { ...target, body: request, ...rest }, context)
    },
  })

/** `hub_read_content`: reads a page through the content service of its owner. */
export const contentTool = ({ callDeps, pool }: PaidToolDeps): AnyTool =>
  defineTool({
    name: 'hub_read_content',
    title: 'Read a paid page',
    description:
      'Reads a page that its owner sells; previews are free. hub_search category ' +
      '"content" finds sites. Fetch other pages yourself.',
    annotations: SPENDING,
    input: s.object({
      service: s.optional(slug('Default: by its host.')),
      url: url('Full URL.'),
      preview: s.optional(s.boolean()),
      etag: s.optional(s.string()),
      max_price_usd: s.optional(s.string(maxPrice)),
      idempotency_key: idempotencyKey,
      dry_run: dryRun,
      max_chars: maxChars,
      offset,
    }),
    output: PAID_RESULT,
    run: async ({ service, url: page, preview, etag, ...rest }, context) => {
      const query = {
        url: page,
        ...(preview !== undefined && { preview }),
        ...(etag !== undefined && { etag }),
      }
      const named = service ?? (await findContentSlug(pool, page))
      const target = { tool: 'hub_read_content', slug: named, method: 'GET', path: '/fetch' }
      return makePaidCall(callDeps, { ...target, query, ...rest }, context)
    },
  })

/** Refuses a purchase from a seller, which needs a maximum price and a warning of its own. */
const useExternalTool = () =>
  failureResult({
    error: 'invalid_arguments',
    message: 'hub_call does not buy from external sellers.',
    next: 'Call hub_call_external with url and max_price_usd.',
    charged_usd: '0.00',
  })

/**
 * Slug of the content service that sells the page.
 * @throws Fault `validation_failed`, `domain_not_registered`
 */
async function findContentSlug(pool: Pool, text: string): Promise<string> {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new Fault('validation_failed', 'url must start with https:// or http://.')
  }
  const found = await findSlugOfHost(pool, url.hostname)
  if (found !== undefined) return found
  throw new Fault('domain_not_registered', 'The pages of this host are not sold here.')
}

/** Parses "POST /path"; for a path alone, looks up the method of the service's endpoint. */
function routeOf(endpoint: string, routes: ReadonlyMap<string, Offering> | undefined) {
  const [, named, rest = ''] = /^(?:([A-Za-z]+)\s+)?(.*)$/s.exec(endpoint.trim()) ?? []
  const path = rest.startsWith('/') ? rest : `/${rest}`
  const only = [...(routes?.values() ?? [])].find((each) => each.path === path)
  return { method: named?.toUpperCase() ?? only?.method ?? 'POST', path }
}
