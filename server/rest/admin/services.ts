import type { Pool, PoolClient } from 'pg'
import { z } from 'zod'
import { type AuditedChange, withAudit } from '../../../core/audit/record.ts'
import { decideReview, findDescribed } from '../../../core/catalog/review/decide.ts'
import { readReview } from '../../../core/catalog/review/versions.ts'
import {
  type AdminService,
  listAdminServices,
} from '../../../core/catalog/services/admin-services.ts'
import {
  readSuspension,
  type Suspendable,
  setSuspension,
  setUpstreamSuspension,
} from '../../../core/catalog/services/suspension.ts'
import { unreadableSecrets } from '../../../core/catalog/upstreams/secrets.ts'
import type { SealingKeys } from '../../../core/crypto/sealing.ts'
import type { FaultCode } from '../../../core/errors.ts'
import { assertNotOwn, type Staff } from '../../../core/finance/staff-acts.ts'
import { earningsPrefix } from '../../../core/ledger/postings.ts'
import { auditReason } from '../fields.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { ReviewView, showReview } from '../review-view.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const Service = z.object({
  slug: z.string(),
  name: z.string(),
  provider: z.string(),
  owner: z.string().nullable().meta({ description: 'Wallet or email address.' }),
  state: z.enum(['active', 'unlisted', 'retired']),
  stage: z.string().nullable().meta({
    description: 'Stage of an upstream. pending: awaiting approval by an administrator.',
  }),
  base_url: z.string().nullable().meta({ description: 'Upstreams: base URL of the API.' }),
  version: z.int().nullable().meta({
    description: 'Version to review, or the one that callers see; null for services of plugins.',
  }),
  waiting: z.boolean().meta({ description: 'True if the version awaits approval.' }),
  unreadable_secrets: z.array(z.string()).meta({
    description: 'Upstreams: credentials that HUB_ENCRYPTION_KEYS cannot decrypt; not sold.',
  }),
  suspended: z.enum(['no', 'service', 'provider']).meta({
    description: 'Suspended by an administrator: the service itself, or its provider.',
  }),
  suspended_reason: z.string().nullable(),
  commission_bps: z.int().nullable().meta({
    description: 'Commission on its current prices, in basis points. null: no prices.',
  }),
})
export type AdminServiceJson = z.infer<typeof Service>

const StateChangeView = z.object({
  id: z.string(),
  before: z.string().meta({ description: 'Previous state.' }),
  after: z.string(),
})

export interface ServiceAdminDeps {
  readonly pool: Pool
  readonly keys: SealingKeys
}

/** Overview, approval and suspension of services and providers. */
export const serviceAdminRoutes = ({ pool, keys }: ServiceAdminDeps): readonly AnyRoute[] => [
  route('GET /v1/admin/services', {
    summary: 'Lists all services in any state, with owner, commission and suspension.',
    auth: 'finance',
    query: listQuery({
      provider: z.string().max(40).optional(),
      slug: z.string().max(40).optional(),
      only: z.enum(['all', 'suspended', 'pending']).default('all'),
    }),
    response: { status: 200, schema: pageSchema(Service) },
    handle: async ({ query: { limit, cursor, ...filter }, url }) => {
      const [after] = readCursor(cursor, z.tuple([z.string().max(40)])) ?? []
      const rows = await listAdminServices(pool, { limit: limit + 1, after, ...filter })
      const slugs = rows.map(({ slug }) => slug)
      const unreadable = await unreadableSecrets(pool, keys, slugs)
      const show = (row: AdminService) => showRow(row, unreadable.get(row.slug))
      return toPage(rows, limit, url, ({ slug }) => [slug], show)
    },
  }),
  reviewRoute(pool),
  decisionRoute(pool, 'approve', 'Approves the waiting version of a service.'),
  decisionRoute(pool, 'refuse', 'Refuses the waiting version of a service.'),
  actionRoute(pool, 'service', 'suspend', 'Suspends a service; it cannot be called or found.'),
  actionRoute(pool, 'service', 'resume', 'Resumes a suspended service.'),
  actionRoute(pool, 'provider', 'suspend', 'Suspends all services of a provider.'),
  actionRoute(pool, 'provider', 'resume', 'Resumes a suspended provider.'),
]

interface ActionInput {
  readonly reason: string
  readonly version?: number | undefined
}
const ReasonInput: z.ZodType<ActionInput> = z.strictObject({ reason: auditReason })
const VersionInput: z.ZodType<ActionInput> = z.strictObject({
  reason: auditReason,
  version: z.int().min(1).optional().meta({
    description: 'Imported APIs and domains: the version that you have reviewed.',
  }),
})
const VERSION_FAULTS: readonly FaultCode[] = [
  'service_changed',
  'service_incomplete',
  'validation_failed',
]

const reviewRoute = (pool: Pool): AnyRoute =>
  route('GET /v1/admin/services/{id}/review', {
    summary: 'Returns the version of a service that awaits approval, and what it changes.',
    auth: 'finance',
    response: { status: 200, schema: ReviewView },
    faults: ['not_found'],
    handle: async ({ params }) => {
      const { subject } = await findDescribed(pool, params.id)
      return { body: showReview(await readReview(pool, subject)) }
    },
  })

const DecisionView = StateChangeView.extend({
  version_before: z.int().nullable().meta({ description: 'Version that callers saw.' }),
  version_after: z.int().nullable().meta({ description: 'Version that callers see now.' }),
})

const decisionRoute = (pool: Pool, action: 'approve' | 'refuse', summary: string): AnyRoute =>
  route(`POST /v1/admin/services/{id}/${action}`, {
    summary,
    auth: 'admin',
    body: VersionInput,
    response: { status: 200, schema: DecisionView },
    faults: ['not_found', 'service_state', 'own_account', ...VERSION_FAULTS],
    handle: async (request) => {
      const { id } = request.params
      const { reason, version } = request.body
      const refusal = action === 'refuse' ? reason : undefined
      const { before, after } = await withAudit(
        pool,
        staffOf(request),
        reason,
        async (client, note) => {
          if (action === 'approve') await assertOthers(client, staffOf(request), 'service', id)
          const change = await decideReview(client, id, version, refusal)
          const refused = refusal === undefined ? {} : { refused: version }
          const act = `service.${action}` as const
          note({ act, subject: id, before: change.before, after: { ...change.after, ...refused } })
          return change
        },
      )
      return {
        body: {
          id,
          before: before.state,
          after: after.state,
          version_before: before.version,
          version_after: after.version,
        },
      }
    },
  })

type ServiceAction = 'suspend' | 'resume'

const actionRoute = (
  pool: Pool,
  kind: Suspendable,
  action: ServiceAction,
  summary: string,
): AnyRoute =>
  route(`POST /v1/admin/${kind}s/{id}/${action}`, {
    summary,
    auth: 'admin',
    body: action === 'suspend' || kind === 'provider' ? ReasonInput : VersionInput,
    response: { status: 200, schema: StateChangeView },
    faults: [
      'not_found',
      'service_state',
      ...(action === 'suspend' ? [] : (['own_account', ...VERSION_FAULTS] as const)),
    ],
    handle: async (request) => {
      const { id } = request.params
      const { reason, version } = request.body
      const staff = staffOf(request)
      const change = await withAudit(pool, staff, reason, async (client, note) => {
        if (action !== 'suspend') await assertOthers(client, staff, kind, id)
        const change = await applyAction(client, { kind, id, action, reason, version })
        if (change.before !== change.after) note(toAuditChange(kind, id, action, change))
        return change
      })
      return { body: { id, ...change } }
    },
  })

/** Nobody approves or resumes services of their own. @throws Fault `own_account` */
async function assertOthers(
  client: PoolClient,
  { principal }: Staff,
  kind: Suspendable,
  id: string,
): Promise<void> {
  const { rows } = await client.query<{ provider: string }>(
    `SELECT coalesce((SELECT provider FROM hub.service
       WHERE slug = $1 AND $2 = 'service'), $1) AS provider`,
    [id, kind],
  )
  await assertNotOwn(client, principal, { accounts: [earningsPrefix(rows[0]!.provider)] })
}

interface StateChange {
  readonly before: string
  readonly after: string
}

function toAuditChange(
  kind: Suspendable,
  id: string,
  action: ServiceAction,
  { before, after }: StateChange,
): AuditedChange {
  const act = `${kind}.${action}` as const
  return { act, subject: id, before: { state: before }, after: { state: after } }
}

async function applyAction(
  client: PoolClient,
  order: {
    kind: Suspendable
    id: string
    action: ServiceAction
    reason: string
    version: number | undefined
  },
): Promise<StateChange> {
  const { kind, id, action, reason, version } = order
  const newReason = action === 'suspend' ? reason : null
  const change =
    kind === 'service' ? await setUpstreamSuspension(client, id, newReason, version) : undefined
  if (change) return change
  const { reason: oldReason } = await readSuspension(client, kind, id)
  await setSuspension(client, kind, id, newReason)
  return { before: describeSuspension(oldReason), after: describeSuspension(newReason) }
}

const describeSuspension = (reason: string | null): string =>
  reason === null ? 'on' : `suspended: ${reason}`

const showRow = (service: AdminService, unreadable: readonly string[] = []): AdminServiceJson => ({
  slug: service.slug,
  name: service.name,
  provider: service.provider,
  owner: service.owner,
  state: service.state,
  stage: service.stage,
  base_url: service.baseUrl,
  version: service.version,
  waiting: service.waiting,
  unreadable_secrets: [...unreadable],
  suspended: service.suspended,
  suspended_reason: service.reason,
  commission_bps: service.commissionBps,
})
