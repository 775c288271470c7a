import { z } from 'zod'
import type {
  ListingTarget,
  OriginDocument,
} from '../../../core/catalog/listings/discovery/read-origin.ts'
import { findListing } from '../../../core/catalog/listings/find-listings.ts'
import { probeOne } from '../../../core/catalog/listings/probe/probe-due.ts'
import { reserveProbe } from '../../../core/catalog/listings/probe/turns.ts'
import { REASONS } from '../../../core/catalog/listings/reasons.ts'
import { RANK } from '../../../core/catalog/listings/store.ts'
import {
  originSource,
  submitOrigin,
  submitTarget,
  validateOrigin,
} from '../../../core/catalog/listings/submit.ts'
import {
  type ListingDeps,
  type TargetValidation,
  validateTarget,
} from '../../../core/catalog/listings/validate-target.ts'
import { Fault } from '../../../core/errors.ts'
import { type AnyRoute, route } from '../route.ts'
import { ListingView, showListing } from './external-listing-view.ts'
import { parseOrigin } from './ownership.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Either one URL, or an origin with everything that it sells. */
const Submission = z
  .strictObject({
    url: z.string().max(2_048).optional().meta({ description: 'Single paid URL.' }),
    method: z.enum(METHODS).optional().meta({ description: 'Default: GET, then POST.' }),
    origin: z.string().max(300).optional().meta({
      description: 'Everything in its /openapi.json or /.well-known/x402.',
    }),
  })
  .refine(({ url, origin }) => (url === undefined) !== (origin === undefined), {
    error: 'must contain either url or origin',
  })

const CheckLine = z.object({
  check: z.string(),
  level: z.enum(['ok', 'warning', 'error']),
  message: z.string(),
})

const TargetValidationView = z.object({
  url: z.string(),
  method: z.string().nullable(),
  would_list: z.boolean(),
  reason: z.object({ code: z.string(), message: z.string() }).nullable(),
  lines: z.array(CheckLine),
})

const Documents = z.array(z.object({ path: z.string(), found: z.boolean(), note: z.string() }))

const Validation = z.object({
  would_list: z.boolean(),
  documents: Documents,
  resources: z.array(TargetValidationView),
})

const SubmissionResult = z.object({
  listed: z.array(ListingView),
  refused: z.array(TargetValidationView),
  documents: Documents,
  queued: z.int().meta({ description: 'More resources of the origin, examined within a day.' }),
})

/** Submission of external x402 services: validate, list, rescan. */
export const submissionRoutes = (deps: ListingDeps): readonly AnyRoute[] => [
  route('POST /v1/listings/validate', {
    summary: 'Checks, line by line, what would be listed for a URL or origin, and why not.',
    auth: 'key',
    body: Submission,
    repeatable: true,
    response: { status: 200, schema: Validation },
    handle: async ({ body }) => ({ body: await validate(deps, body) }),
  }),
  route('POST /v1/listings', {
    summary: 'Lists a URL that charges by x402, or everything that an origin sells.',
    auth: 'key',
    body: Submission,
    response: { status: 201, schema: SubmissionResult },
    faults: ['listing_refused'],
    handle: async ({ body }) => ({ status: 201, body: await listSubmission(deps, body) }),
  }),
  route('POST /v1/listings/{id}/rescan', {
    summary: 'Probes a listing now: at most once a minute, and its host every two seconds.',
    auth: 'key',
    response: { status: 200, schema: ListingView },
    faults: ['listing_not_found', 'listing_removed', 'rescan_too_soon'],
    handle: async ({ params }) => ({ body: await rescan(deps, params.id) }),
  }),
]

type Submission = z.infer<typeof Submission>

async function validate(deps: ListingDeps, { url, method, origin }: Submission) {
  const { documents, validations } =
    origin === undefined
      ? { documents: [], validations: [await validateTarget(deps, toTarget(url, method))] }
      : await validateOriginSubmission(deps, origin)
  return {
    would_list: validations.some(({ candidate }) => candidate !== undefined),
    documents,
    resources: validations.map(showValidation),
  }
}

async function validateOriginSubmission(deps: ListingDeps, origin: string) {
  const url = parseOrigin(origin, deps.rules, '/origin')
  const { contents, validations } = await validateOrigin(deps, url)
  return { documents: contents.documents, validations }
}

/** @throws Fault `listing_refused` if nothing is listed */
async function listSubmission(deps: ListingDeps, { url, method, origin }: Submission) {
  const { submitted, documents, queued } =
    origin === undefined
      ? { ...(await listOne(deps, url, method)), queued: 0 }
      : await listOrigin(deps, parseOrigin(origin, deps.rules, '/origin'))
  const ids = submitted.flatMap(({ id }) => id ?? [])
  const refused = submitted
    .filter(({ id }) => id === undefined)
    .map(({ validation }) => showValidation(validation))
  if (ids.length === 0) {
    const [first] = refused
    throw new Fault('listing_refused', first?.reason?.message, { extras: { refused, documents } })
  }
  const listed = await Promise.all(ids.map((id) => findListing(deps.pool, id)))
  const views = listed.flatMap((one) => (one ? [showListing(one)] : []))
  return { listed: views, refused, documents, queued }
}

async function listOne(deps: ListingDeps, url: string | undefined, method: Submission['method']) {
  const discoverer = { source: 'submitted', rank: RANK.document }
  const documents: readonly OriginDocument[] = []
  return { submitted: [await submitTarget(deps, toTarget(url, method), discoverer)], documents }
}

async function listOrigin(deps: ListingDeps, origin: string) {
  const discoverer = { source: originSource(origin), rank: RANK.document }
  const { contents, submitted, queued } = await submitOrigin(deps, origin, discoverer)
  return { submitted, documents: contents.documents, queued }
}

const toTarget = (url: string | undefined, method: Submission['method']): ListingTarget => ({
  url: url ?? '',
  method,
  description: {},
})

const showValidation = ({ url, method, reason, lines, candidate }: TargetValidation) => ({
  url,
  method: method ?? null,
  would_list: candidate !== undefined,
  reason: reason === undefined ? null : { code: reason, message: REASONS[reason] },
  lines,
})

async function rescan(deps: ListingDeps, id: string) {
  const before = await findListing(deps.pool, id)
  if (!before) throw new Fault('listing_not_found')
  if (before.reason === 'opted_out') throw new Fault('listing_removed')
  const seconds = await reserveProbe(deps.pool, id)
  if (seconds > 0) {
    throw new Fault('rescan_too_soon', undefined, { headers: { 'Retry-After': String(seconds) } })
  }
  await probeOne(deps, before, { again: true })
  return showListing((await findListing(deps.pool, id)) ?? before)
}
