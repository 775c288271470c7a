import type { Pool } from 'pg'
import { z } from 'zod'
import {
  type AccessLine,
  findReviewable,
  listAccess,
  listSamePersonActs,
} from '../../../core/audit/access-review.ts'
import { withAudit } from '../../../core/audit/record.ts'
import { assertNotOwn } from '../../../core/finance/staff-acts.ts'
import { ROLES } from '../../../core/identity/roles.ts'
import { auditReason } from '../fields.ts'
import { type AnyRoute, parse, route, staffOf } from '../route.ts'
import { roleId } from './roles.ts'

const instant = z.iso.datetime().nullable()

const AccessView = z.object({
  role_id: z.string().nullable().meta({ description: 'null: a wallet of HUB_ADMIN_WALLETS.' }),
  name: z.string(),
  role: z.enum(ROLES),
  granted_by: z.string().nullable(),
  granted_at: instant,
  effective_at: instant,
  confirmed_by: z.string().nullable(),
  also_known_as: z.array(z.string()).meta({
    description: 'Other identities of the same person, linked now or earlier.',
  }),
  last_act_at: instant.meta({ description: 'Last line in the audit log.' }),
  last_seen_at: instant.meta({ description: 'Last use of a session or key.' }),
  reviewed_by: z.string().nullable(),
  reviewed_at: instant,
  review_due_at: instant.meta({ description: 'null: configured, and reviewed with it.' }),
})

const AccessReview = z.object({
  data: z.array(AccessView),
  same_person_acts: z.array(z.uuid()).meta({
    description: 'Acts whose two people turned out to be one, by identities linked later.',
  }),
})

export type AccessJson = z.infer<typeof AccessView>
export type AccessReviewJson = z.infer<typeof AccessReview>

export interface AccessReviewDeps {
  readonly pool: Pool
  /** Wallets of configured administrators, in lower case. */
  readonly admins: readonly string[]
  readonly roleReviewDays: number
}

const DAY_MS = 86_400_000

/** The access review: held roles, their use, and the dates of their reviews. */
export const accessReviewRoutes = (deps: AccessReviewDeps): readonly AnyRoute[] => [
  route('GET /v1/admin/access-review', {
    summary: 'Lists held roles with their grant, last use and review date.',
    auth: 'auditor',
    response: { status: 200, schema: AccessReview },
    handle: async () => {
      const lines = await listAccess(deps.pool, deps.admins)
      return {
        body: {
          data: lines.map((line) => showAccess(line, deps.roleReviewDays)),
          same_person_acts: await listSamePersonActs(deps.pool),
        },
      }
    },
  }),
  route('POST /v1/admin/roles/{id}/review', {
    summary: 'Records that a role of another person was reviewed and is still needed.',
    auth: 'admin',
    body: z.strictObject({ reason: auditReason }),
    response: { status: 200, schema: z.object({ role_id: z.string() }) },
    faults: ['not_found', 'own_account'],
    handle: async (request) => {
      const id = parse(roleId, request.params.id, 'role id')
      const by = staffOf(request)
      await withAudit(deps.pool, by, request.body.reason, async (client, note) => {
        const grant = await findReviewable(client, BigInt(id))
        const { principal, role, name } = grant
        await assertNotOwn(client, by.principal, { accounts: [], principals: [principal] })
        note({ act: 'role.review', subject: name, after: { role, role_id: String(grant.id) } })
      })
      return { body: { role_id: id } }
    },
  }),
]

const showAccess = (line: AccessLine, reviewDays: number): AccessJson => {
  const since = line.reviewedAt ?? line.grantedAt
  return {
    role_id: line.roleId === null ? null : String(line.roleId),
    name: line.name,
    role: line.role,
    granted_by: line.grantedBy,
    granted_at: isoOrNull(line.grantedAt),
    effective_at: isoOrNull(line.effectiveAt),
    confirmed_by: line.confirmedBy,
    also_known_as: [...line.alsoKnownAs],
    last_act_at: isoOrNull(line.lastActAt),
    last_seen_at: isoOrNull(line.lastSeenAt),
    reviewed_by: line.reviewedBy,
    reviewed_at: isoOrNull(line.reviewedAt),
    review_due_at:
      since === null ? null : new Date(since.getTime() + reviewDays * DAY_MS).toISOString(),
  }
}

const isoOrNull = (at: Date | null): string | null => at?.toISOString() ?? null
