import { z } from 'zod'
import { canonicalOrigin } from '../../../core/catalog/listings/discovery/canonical.ts'
import type { OriginDocument, Target } from '../../../core/catalog/listings/discovery/origin.ts'
import {
  type Examination,
  type ExaminePorts,
  examine,
} from '../../../core/catalog/listings/examine.ts'
import { findExternal } from '../../../core/catalog/listings/find-listings.ts'
import { probeOne } from '../../../core/catalog/listings/probe/run.ts'
import { REASONS } from '../../../core/catalog/listings/reasons.ts'
import { RANK } from '../../../core/catalog/listings/store.ts'
import {
  examineOrigin,
  originSource,
  submit,
  submitOrigin,
} from '../../../core/catalog/listings/submit.ts'
import type { Clock } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import { type AnyRoute, route } from '../route.ts'
import { ExternalView, showExternal } from './external-views.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** One URL, or all that an origin sells. */
const Submission = z
  .strictObject({
    url: z.string().max(2_048).optional().meta({ description: 'One paid URL.' }),
    method: z.enum(METHODS).optional().meta({ description: 'Left out: GET, else POST.' }),
    origin: z.string().max(300).optional().meta({
      description: 'All that /openapi.json or /.well-known/x402 of it names.',
    }),
  })
  .refine(({ url, origin }) => (url === undefined) !== (origin === undefined), {
    error: 'give url or origin, and not both',
  })

const Line = z.object({
  check: z.string(),
  level: z.enum(['ok', 'warning', 'error']),
  message: z.string(),
})

const Examined = z.object({
  url: z.string(),
  method: z.string().nullable(),
  would_list: z.boolean(),
  reason: z.object({ code: z.string(), message: z.string() }).nullable(),
  lines: z.array(Line),
})

const Documents = z.array(z.object({ path: z.string(), found: z.boolean(), note: z.string() }))

const Validation = z.object({
  would_list: z.boolean(),
  documents: Documents,
  resources: z.array(Examined),
})

const Submitted = z.object({
  listed: z.array(ExternalView),
  refused: z.array(Examined),
  documents: Documents,
  queued: z.int().meta({ description: 'Further resources of the origin, looked at within a day.' }),
})

export interface ListingPorts extends ExaminePorts {
  readonly clock: Clock
}

/** Between two probes that somebody asks for. */
const RESCAN_SECONDS = 60

/** Where sellers list what they sell, and learn why it is not listed. */
export const listingRoutes = (ports: ListingPorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/listings/validate',
    summary: 'Tells line by line what would be listed of a URL or an origin, or why not.',
    auth: 'key',
    body: Submission,
    answer: { status: 200, schema: Validation },
    handle: async ({ body }) => ({ body: await validate(ports, body) }),
  }),
  route({
    method: 'POST',
    path: '/v1/listings',
    summary: 'Lists a URL that asks for payment by x402, or all that an origin sells.',
    auth: 'key',
    body: Submission,
    answer: { status: 201, schema: Submitted },
    faults: ['listing_refused'],
    handle: async ({ body }) => ({ status: 201, body: await list(ports, body) }),
  }),
  route({
    method: 'POST',
    path: '/v1/listings/{id}/rescan',
    summary: 'Probes a listing now; once a minute.',
    auth: 'key',
    answer: { status: 200, schema: ExternalView },
    faults: ['listing_not_found', 'listing_removed', 'rescan_too_soon'],
    handle: async ({ params }) => ({ body: await rescan(ports, params['id'] ?? '') }),
  }),
]

type Submission = z.infer<typeof Submission>

async function validate(ports: ListingPorts, { url, method, origin }: Submission) {
  const { documents, examinations } =
    origin === undefined
      ? { documents: [], examinations: [await examine(ports, targetOf(url, method))] }
      : await atOrigin(ports, origin)
  return {
    would_list: examinations.some(({ candidate }) => candidate !== undefined),
    documents,
    resources: examinations.map(showExamination),
  }
}

async function atOrigin(ports: ListingPorts, origin: string) {
  const { reading, examinations } = await examineOrigin(ports, originOf(ports, origin))
  return { documents: reading.documents, examinations }
}

/** @throws Fault `listing_refused` when nothing at all is listed */
async function list(ports: ListingPorts, { url, method, origin }: Submission) {
  const { submitted, documents, queued } =
    origin === undefined
      ? { ...(await listOne(ports, url, method)), queued: 0 }
      : await listOrigin(ports, originOf(ports, origin))
  const ids = submitted.flatMap(({ id }) => id ?? [])
  const refused = submitted
    .filter(({ id }) => id === undefined)
    .map(({ examination }) => showExamination(examination))
  if (ids.length === 0) {
    const [first] = refused
    throw new Fault('listing_refused', first?.reason?.message, {
      extras: { refused, documents },
    })
  }
  const listed = await Promise.all(ids.map((id) => findExternal(ports.pool, id)))
  const shown = listed.flatMap((one) => (one ? [showExternal(one)] : []))
  return { listed: shown, refused, documents, queued }
}

async function listOne(ports: ListingPorts, url: string | undefined, method: Submission['method']) {
  const namer = { source: 'submitted', rank: RANK.document }
  const documents: readonly OriginDocument[] = []
  return { submitted: [await submit(ports, targetOf(url, method), namer)], documents }
}

async function listOrigin(ports: ListingPorts, origin: string) {
  const namer = { source: originSource(origin), rank: RANK.document }
  const { reading, submitted, queued } = await submitOrigin(ports, origin, namer)
  return { submitted, documents: reading.documents, queued }
}

const targetOf = (url: string | undefined, method: Submission['method']): Target => ({
  url: url ?? '',
  method,
  described: {},
})

/** @throws Fault `validation_failed` for what is no origin that may be asked */
function originOf({ rules }: ListingPorts, text: string): string {
  const canonical = canonicalOrigin(text, rules)
  if (typeof canonical !== 'string') return canonical.origin
  const message = REASONS[canonical]
  throw new Fault('validation_failed', `/origin: ${message}`, {
    extras: { issues: [{ path: '/origin', message }] },
  })
}

const showExamination = ({ url, method, reason, lines, candidate }: Examination) => ({
  url,
  method: method ?? null,
  would_list: candidate !== undefined,
  reason: reason === undefined ? null : { code: reason, message: REASONS[reason] },
  lines,
})

async function rescan(ports: ListingPorts, id: string) {
  const before = await findExternal(ports.pool, id)
  if (!before) throw new Fault('listing_not_found')
  if (before.reason === 'opted_out') throw new Fault('listing_removed')
  const now = ports.clock.now().getTime()
  const { rowCount } = await ports.pool.query(
    `UPDATE hub.listing SET probed_at = now() WHERE id = $1
       AND (probed_at IS NULL OR probed_at < now() - make_interval(secs => $2))`,
    [id, RESCAN_SECONDS],
  )
  if (rowCount !== 1) {
    const waited = (now - (before.probedAt?.getTime() ?? now)) / 1_000
    const seconds = Math.max(1, Math.ceil(RESCAN_SECONDS - waited))
    throw new Fault('rescan_too_soon', undefined, { headers: { 'Retry-After': String(seconds) } })
  }
  await probeOne(ports, before)
  return showExternal((await findExternal(ports.pool, id)) ?? before)
}
