import { z } from 'zod'
import {
  type DoubtfulPage,
  findDoubtfulPage,
} from '../../../../core/catalog/domains/low-confidence.ts'
import { domainToken, verifyDomain } from '../../../../core/catalog/domains/proof.ts'
import { proofExpiry } from '../../../../core/catalog/domains/proof-times.ts'
import {
  changeDomain,
  type Domain,
  deleteDomain,
  findDomain,
  listDomains,
  registerDomain,
  unpaidEarnings,
  withdrawTexts,
} from '../../../../core/catalog/domains/store.ts'
import { canonicalOrigin } from '../../../../core/catalog/listings/discovery/canonical-url.ts'
import { REASONS } from '../../../../core/catalog/listings/reasons.ts'
import { holdReasons } from '../../../../core/catalog/review/impersonation.ts'
import { readReview } from '../../../../core/catalog/review/versions.ts'
import type { TargetRules } from '../../../../core/egress/target.ts'
import { Fault } from '../../../../core/errors.ts'
import { json } from '../../../../core/money.ts'
import { proofOptions } from '../../catalog/ownership.ts'
import { plainText, slug } from '../../fields.ts'
import { inputFault } from '../../input-errors.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../../paging.ts'
import { ReviewView, reviewRules, showReview } from '../../review-view.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import type { DomainDeps } from './deps.ts'
import { domainEarningRoutes } from './earnings.ts'
import { domainRuleRoutes } from './rules.ts'

const name = plainText(100)
const summary = plainText(500)

const NewDomain = z.strictObject({
  domain: z.string().min(1).max(300).meta({ description: 'Host or https origin.' }),
  name: name.optional().meta({ description: 'Name in lists. Default: the host.' }),
  summary: summary.optional(),
  slug: slug.optional().meta({ description: 'Slug. Default: from the host.' }),
})

const DomainChange = z.strictObject({
  name: name.optional(),
  summary: summary.optional(),
  selling: z.boolean().optional().meta({ description: 'false: stops sales immediately.' }),
})

const time = z.iso.datetime()
const domainFields = {
  domain_id: z.string(),
  domain: z.string(),
  state: z.enum(['pending', 'verified', 'expired', 'transferred', 'deleted']),
  selling: z.boolean(),
  slug: z.string().nullable(),
  fetch_url: z.string().nullable().meta({ description: 'URL for buying pages.' }),
  name: z.string(),
  summary: z.string(),
  provider: z.string(),
  created_at: time,
  proof: z.object({
    token: z.string(),
    ways: z
      .array(z.object({ method: z.string(), where: z.string(), content: z.string() }))
      .meta({ description: 'Use any one, permanently: it is checked every day.' }),
    method: z.enum(['file', 'meta', 'dns']).nullable(),
    proven_at: time.nullable(),
    next_check_at: time.nullable(),
    expires_at: time.nullable().meta({
      description: 'End of sales, if the last check did not find the proof: publish it again.',
    }),
  }),
}
const DomainView = z.object(domainFields)
const DomainDetailView = z.object({
  ...domainFields,
  review: ReviewView.meta({ description: 'Versions of name and summary.' }),
  earned_microdollars: z.int().meta({ description: 'Unpaid earnings after commission.' }),
  low_confidence: z
    .object({ url: z.string(), confidence: z.number(), at: time })
    .nullable()
    .meta({ description: 'Page whose text is doubtful, as last notified.' }),
})

export type DomainJson = z.infer<typeof DomainView>
export type DomainDetailJson = z.infer<typeof DomainDetailView>

export const domainRoutes = (deps: DomainDeps): readonly AnyRoute[] => [
  ...registrationRoutes(deps),
  ...managementRoutes(deps),
  ...domainRuleRoutes(deps),
  ...domainEarningRoutes(deps),
]

const registrationRoutes = (deps: DomainDeps): readonly AnyRoute[] => [
  route('POST /v1/domains', {
    summary: 'Registers a domain to sell its pages, and returns how to prove ownership.',
    auth: 'provider',
    body: NewDomain,
    example: { domain: 'example.com' },
    response: { status: 201, location: '/v1/domains/{domain_id}', schema: DomainView },
    faults: ['root_key_required', 'too_many_domains', 'slug_taken'],
    handle: async (request) => {
      const [owner = ''] = ownerOf(request)
      const { domain, ...about } = request.body
      const origin = parseDomain(domain, deps.rules)
      const rules = reviewRules(deps)
      const imitation = { slug: about.slug, name: '', sentences: [] }
      const [reason] = holdReasons(imitation, rules.platformNames)
      if (reason !== undefined) throw new Fault('slug_taken', 'The slug is reserved.')
      const draft = {
        origin,
        name: about.name,
        summary: about.summary,
        slug: about.slug,
        tokenVersion: deps.proofKeys.current.version,
      }
      const made = await registerDomain(deps.pool, owner, draft, rules)
      return { status: 201, body: showDomain(made, deps) }
    },
  }),
  route('POST /v1/domains/{id}/verify', {
    summary: 'Checks the ownership proof of a domain. If found, its pages are sold.',
    auth: 'provider',
    response: { status: 200, schema: DomainView },
    faults: [
      'root_key_required',
      'domain_not_found',
      'domain_not_proven',
      'slug_taken',
      'proof_too_soon',
    ],
    handle: async (request) =>
      refreshAndShow(deps, await verifyDomain(deps, ownerOf(request), request.params.id)),
  }),
]

const managementRoutes = (deps: DomainDeps): readonly AnyRoute[] => [
  route('GET /v1/domains', {
    summary: 'Lists your domains by host.',
    auth: 'provider',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(DomainView) },
    faults: ['root_key_required', 'validation_failed'],
    handle: async (request) => {
      const { limit, cursor } = request.query
      const after = readCursor(cursor, z.tuple([z.string(), z.string()]))
      const rows = await listDomains(deps.pool, ownerOf(request), { limit: limit + 1, after })
      const position = ({ host, id }: Domain) => [host, id]
      return toPage(rows, limit, request.url, position, (domain) => showDomain(domain, deps))
    },
  }),
  route('GET /v1/domains/{id}', {
    summary: 'Returns a domain with its state, ownership proof and unpaid earnings.',
    auth: 'provider',
    response: { status: 200, schema: DomainDetailView },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const domain = await findDomain(deps.pool, ownerOf(request), request.params.id)
      const earned = json(await unpaidEarnings(deps.ledger, domain))
      const review = showReview(await readReview(deps.pool, domain.id))
      const low = showDoubtful(await findDoubtfulPage(deps.pool, domain.id))
      const figures = { earned_microdollars: earned, low_confidence: low }
      return { body: { ...showDomain(domain, deps), review, ...figures } }
    },
  }),
  route('POST /v1/domains/{id}/withdraw', {
    summary: 'Withdraws name and summary that await approval.',
    auth: 'provider',
    response: { status: 200, schema: DomainView },
    faults: ['root_key_required', 'domain_not_found', 'service_state'],
    handle: async (request) =>
      refreshAndShow(deps, await withdrawTexts(deps.pool, ownerOf(request), request.params.id)),
  }),
  route('PATCH /v1/domains/{id}', {
    summary: 'Changes name or summary of a domain, or pauses and resumes sales (selling).',
    auth: 'provider',
    body: DomainChange,
    example: { selling: false },
    response: { status: 200, schema: DomainView },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const { id } = request.params
      const rules = reviewRules(deps)
      const changed = await changeDomain(deps.pool, ownerOf(request), id, request.body, rules)
      return refreshAndShow(deps, changed)
    },
  }),
  route('DELETE /v1/domains/{id}', {
    summary: 'Deletes a domain and stops its sales immediately. You keep its earnings.',
    auth: 'provider',
    response: { status: 200, schema: DomainView },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) =>
      refreshAndShow(deps, await deleteDomain(deps.pool, ownerOf(request), request.params.id)),
  }),
]

const showDoubtful = (page: DoubtfulPage | undefined) =>
  page ? { ...page, at: page.at.toISOString() } : null

/** Refreshes the catalog: immediately in this process, within a second in others. */
async function refreshAndShow(deps: DomainDeps, domain: Domain) {
  if (domain.slug !== null) await deps.catalog.refresh(domain.slug)
  return { body: showDomain(domain, deps) }
}

/** @throws Fault `validation_failed` if it is not a host name of the public internet */
function parseDomain(text: string, rules: TargetRules): string {
  const found = canonicalOrigin(text.trim().toLowerCase(), rules)
  const url = typeof found === 'string' ? undefined : new URL(found.origin)
  if (url && url.port === '' && /[a-z-]$/.test(url.hostname)) return url.origin
  const message = typeof found === 'string' ? REASONS[found] : 'must be a host name'
  throw inputFault('/domain', message)
}

function showDomain(domain: Domain, { proofKeys, proxyUrl }: DomainDeps) {
  const token = domainToken(proofKeys, domain)
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
      ways: proofOptions(domain.origin, domain.host, token),
      method: domain.method,
      proven_at: domain.provenAt?.toISOString() ?? null,
      next_check_at: domain.nextCheckAt?.toISOString() ?? null,
      expires_at: proofExpiry(domain)?.toISOString() ?? null,
    },
  }
}
