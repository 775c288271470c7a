import type { Pool } from 'pg'
import { z } from 'zod'
import { withAudit } from '../../../core/audit/record.ts'
import { secondPersonFault } from '../../../core/finance/second-person.ts'
import {
  confirmRole,
  findPrincipalByName,
  grantRole,
  listRoles,
  ROLES,
  type RoleGrant,
  revokeRole,
} from '../../../core/identity/roles.ts'
import { auditReason } from '../fields.ts'
import { type AnyRoute, parse, route, staffOf } from '../route.ts'

const Grant = z.object({
  role_id: z.string(),
  name: z.string().meta({ description: 'Email address or wallet.' }),
  role: z.enum(ROLES),
  granted_by: z.string(),
  granted_at: z.iso.datetime(),
  effective_at: z.iso.datetime().meta({
    description: 'End of the waiting time, which a second administrator can end earlier.',
  }),
  confirmed_by: z.string().nullable(),
  revoked_by: z.string().nullable(),
  revoked_at: z.iso.datetime().nullable(),
})

const Roles = z.object({
  data: z.array(Grant),
  configured: z.array(z.string()).meta({
    description: 'Wallets in HUB_ADMIN_WALLETS, which are administrators.',
  }),
})

export type GrantJson = z.infer<typeof Grant>
export type RolesJson = z.infer<typeof Roles>

export interface RoleDeps {
  readonly pool: Pool
  /** Wallets of configured administrators, in lower case. */
  readonly admins: readonly string[]
  /** Hours before a role takes effect. */
  readonly roleWaitHours: number
}

export const roleRoutes = (deps: RoleDeps): readonly AnyRoute[] => [
  route('GET /v1/admin/roles', {
    summary: 'Lists administrators, finance staff and auditors.',
    auth: 'admin',
    query: z.strictObject({ held: z.enum(['now', 'ever']).default('now') }),
    response: { status: 200, schema: Roles },
    handle: async ({ query }) => {
      const grants = await listRoles(deps.pool, query.held === 'ever')
      return { body: { data: grants.map(showGrant), configured: deps.admins } }
    },
  }),
  grantRoute(deps),
  confirmRoute(deps),
  revokeRoute(deps),
]

const grantRoute = ({ pool, admins, roleWaitHours: waitHours }: RoleDeps): AnyRoute =>
  route('POST /v1/admin/roles', {
    summary: 'Grants a role by email address or wallet, effective after the waiting time.',
    auth: 'admin',
    body: z.strictObject({
      name: z.string().trim().min(3).max(254),
      role: z.enum(ROLES),
      reason: auditReason,
    }),
    response: { status: 201, or: 200, schema: Grant },
    faults: ['not_found'],
    handle: async (request) => {
      const { name, role, reason } = request.body
      const by = staffOf(request)
      const { grant, principal } = await withAudit(pool, by, reason, async (client, note) => {
        const principal = await findPrincipalByName(client, name)
        const grant = await grantRole(client, { principal, role, by, waitHours, admins })
        const after = { role, effective: grant?.effectiveAt }
        if (grant) note({ act: 'role.grant', subject: grant.name, after })
        return { grant, principal }
      })
      const current = grant ?? (await findHeld(pool, principal, role))
      return { status: grant ? 201 : 200, body: showGrant(current) }
    },
  })

const confirmRoute = ({ pool, admins }: RoleDeps): AnyRoute =>
  route('POST /v1/admin/roles/{id}/confirm', {
    summary: 'Confirms a role granted by another administrator; it takes effect immediately.',
    auth: 'admin',
    body: z.strictObject({ reason: auditReason }),
    response: { status: 200, schema: Grant },
    faults: ['not_found', 'second_person_required'],
    handle: async (request) => {
      const id = BigInt(parse(roleId, request.params.id, 'role id'))
      const by = staffOf(request)
      const grant = await withAudit(pool, by, request.body.reason, async (client, note) => {
        const grant = await confirmRole(client, id, by, admins)
        if (typeof grant === 'string') throw secondPersonFault(grant)
        if (grant.confirmedBy === by.name) {
          note({ act: 'role.confirm', subject: grant.name, after: { role: grant.role } })
        }
        return grant
      })
      return { body: showGrant(grant) }
    },
  })

const revokeRoute = ({ pool, admins }: RoleDeps): AnyRoute =>
  route('DELETE /v1/admin/roles/{id}', {
    summary: 'Revokes a role immediately. The last administrator cannot be revoked.',
    auth: 'admin',
    body: z.strictObject({ reason: auditReason }),
    response: { status: 200, schema: Grant },
    faults: ['not_found', 'last_administrator'],
    handle: async (request) => {
      const id = BigInt(parse(roleId, request.params.id, 'role id'))
      const staff = staffOf(request)
      const revoked = await withAudit(pool, staff, request.body.reason, async (client, note) => {
        const grant = await revokeRole(client, id, staff.name, admins)
        note({ act: 'role.revoke', subject: grant.name, before: { role: grant.role } })
        return grant
      })
      return { body: showGrant(revoked) }
    },
  })

export const roleId = z.string().regex(/^\d{1,18}$/, 'must be a number')

const findHeld = async (pool: Pool, principal: string, role: string): Promise<RoleGrant> =>
  (await listRoles(pool, false)).find(
    (grant) => grant.principal === principal && grant.role === role,
  )!

const showGrant = (grant: RoleGrant): z.infer<typeof Grant> => ({
  role_id: String(grant.id),
  name: grant.name,
  role: grant.role,
  granted_by: grant.grantedBy,
  granted_at: grant.grantedAt.toISOString(),
  effective_at: grant.effectiveAt.toISOString(),
  confirmed_by: grant.confirmedBy,
  revoked_by: grant.revokedBy,
  revoked_at: grant.revokedAt?.toISOString() ?? null,
})
