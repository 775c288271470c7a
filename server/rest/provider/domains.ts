import type { Pool } from 'pg'
import { z } from 'zod'
import { tokenOf, verifyDomain } from '../../../core/catalog/domains/proof.ts'
import {
  changeDomain,
  type Domain,
  deleteDomain,
  earnedBy,
  findDomain,
  listDomains,
  registerDomain,
} from '../../../core/catalog/domains/store.ts'
import {
  canonicalOrigin,
  type UrlRules,
} from '../../../core/catalog/listings/discovery/canonical.ts'
import type { OwnershipPorts } from '../../../core/catalog/listings/ownership.ts'
import { REASONS } from '../../../core/catalog/listings/reasons.ts'
import type { Catalog } from '../../../core/catalog/services/catalog.ts'
import type { Clock } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { json } from '../../../core/money.ts'
import { waysOf } from '../catalog/ownership.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import { domainEarnings } from './domains-earnings.ts'
import { domainRules } from './domains-rules.ts'

export interface DomainPorts extends OwnershipPorts {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly catalog: Pick<Catalog, 'refresh'>
  readonly rules: UrlRules
  readonly clock: Clock
  /** Where services are called. */
  readonly proxyUrl: () => string
}

const name = z.string().trim().min(1).max(100)
const summary = z.string().trim().min(1).max(500)
const slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/, '2 to 40 of a-z, 0-9, inner hyphens')

const Order = z.strictObject({
  domain: z.string().min(1).max(300).meta({ description: 'A host, or its https origin.' }),
  name: name.optional().meta({ description: 'Shown in lists. Left out: the host.' }),
  summary: summary.optional(),
  slug: slug.optional().meta({ description: 'Of the service. Left out: made of the host.' }),
})

const Change = z.strictObject({
  name: name.optional(),
  summary: summary.optional(),
  selling: z.boolean().optional().meta({ description: 'false: nothing is sold, at once.' }),
})

const time = z.iso.datetime()
const Shown = {
  domain_id: z.string(),
  domain: z.string(),
  state: z.enum(['pending', 'verified', 'expired', 'transferred', 'deleted']),
  selling: z.boolean(),
  slug: z.string().nullable(),
  fetch_url: z.string().nullable().meta({ description: 'Where its pages are bought.' }),
  name: z.string(),
  summary: z.string(),
  provider: z.string(),
  created_at: time,
  proof: z.object({
    token: z.string(),
    ways: z
      .array(z.object({ method: z.string(), where: z.string(), content: z.string() }))
      .meta({ description: 'One of them is enough. Keep it: it is looked for every day.' }),
    method: z.enum(['file', 'meta', 'dns']).nullable(),
    proven_at: time.nullable(),
    next_check_at: time.nullable(),
  }),
}
const View = z.object(Shown)
const Whole = z.object({
  ...Shown,
  earned_microdollars: z.int().meta({ description: 'Not paid out yet, after commission.' }),
})

export type DomainJson = z.infer<typeof View>
export type WholeDomainJson = z.infer<typeof Whole>

/** Where owners of domains sell their pages. */
export const domainRoutes = (ports: DomainPorts): readonly AnyRoute[] => [
  ...registering(ports),
  ...changing(ports),
  ...domainRules(ports),
  ...domainEarnings(ports),
]

const registering = (ports: DomainPorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/domains',
    summary: 'Registers a domain whose pages you want to sell, and tells how to prove it is yours.',
    auth: 'provider',
    body: Order,
    example: { domain: 'example.com' },
    answer: { status: 201, location: '/v1/domains/{domain_id}', schema: View },
    faults: ['root_key_required', 'too_many_domains'],
    handle: async (request) => {
      const [owner = ''] = ownerOf(request)
      const { domain, ...about } = request.body
      const origin = originOf(domain, ports.rules)
      const made = await registerDomain(ports.pool, owner, {
        origin,
        name: about.name,
        summary: about.summary,
        slug: about.slug,
      })
      return { status: 201, body: show(made, ports) }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/domains/{id}/verify',
    summary: 'Looks for the proof of a domain. With it the host is yours, and its pages are sold.',
    auth: 'provider',
    answer: { status: 200, schema: View },
    faults: [
      'root_key_required',
      'domain_not_found',
      'domain_not_proven',
      'slug_taken',
      'proof_too_soon',
    ],
    handle: async (request) => {
      const { id = '' } = request.params
      return changed(ports, await verifyDomain(ports, ownerOf(request), id))
    },
  }),
]

const changing = (ports: DomainPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/domains',
    summary: 'Your domains, by host.',
    auth: 'provider',
    query: z.strictObject(paging),
    answer: { status: 200, schema: pageOf(View) },
    faults: ['root_key_required', 'validation_failed'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const after = readCursor(cursor, z.tuple([z.string(), z.string()]))
      const rows = await listDomains(ports.pool, ownerOf(request), { limit: limit + 1, after })
      const position = ({ host, id }: Domain) => [host, id]
      return page(rows, limit, request.url, position, (domain) => show(domain, ports))
    },
  }),
  route({
    method: 'GET',
    path: '/v1/domains/{id}',
    summary: 'One domain: its state, its proof, and what it earned.',
    auth: 'provider',
    answer: { status: 200, schema: Whole },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      const domain = await findDomain(ports.pool, ownerOf(request), id)
      const earned = json(await earnedBy(ports.ledger, domain))
      return { body: { ...show(domain, ports), earned_microdollars: earned } }
    },
  }),
  route({
    method: 'PATCH',
    path: '/v1/domains/{id}',
    summary: 'Changes how a domain is shown, or opts it out (selling: false), or in again.',
    auth: 'provider',
    body: Change,
    example: { selling: false },
    answer: { status: 200, schema: View },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      return changed(ports, await changeDomain(ports.pool, ownerOf(request), id, request.body))
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/domains/{id}',
    summary: 'Ends the sale of a domain, at once. What it earned stays yours.',
    auth: 'provider',
    answer: { status: 200, schema: View },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      return changed(ports, await deleteDomain(ports.pool, ownerOf(request), id))
    },
  }),
]

/** The catalogue follows at once here, and within a second everywhere. */
async function changed(ports: DomainPorts, domain: Domain) {
  if (domain.slug !== null) await ports.catalog.refresh(domain.slug)
  return { body: show(domain, ports) }
}

/** @throws Fault `validation_failed` for what is no host of the public internet */
function originOf(text: string, rules: UrlRules): string {
  const found = canonicalOrigin(text.trim().toLowerCase(), rules)
  const url = typeof found === 'string' ? undefined : new URL(found.origin)
  if (url && url.port === '' && /[a-z-]$/.test(url.hostname)) return url.origin
  const message = typeof found === 'string' ? REASONS[found] : 'is no name of a host'
  throw new Fault('validation_failed', `/domain: ${message}`, {
    extras: { issues: [{ path: '/domain', message }] },
  })
}

function show(domain: Domain, { secret, proxyUrl }: DomainPorts) {
  const token = tokenOf(secret, domain)
  const isSold = domain.state === 'verified' && domain.selling
  return {
    domain_id: domain.id,
    domain: domain.host,
    state: domain.state,
    selling: domain.selling,
    slug: domain.slug,
    fetch_url: isSold ? `${proxyUrl()}/${domain.slug}/fetch?url=${domain.origin}/` : null,
    name: domain.name,
    summary: domain.summary,
    provider: domain.provider,
    created_at: domain.createdAt.toISOString(),
    proof: {
      token,
      ways: waysOf(domain.origin, domain.host, token),
      method: domain.method,
      proven_at: domain.provenAt?.toISOString() ?? null,
      next_check_at: domain.nextCheckAt?.toISOString() ?? null,
    },
  }
}
