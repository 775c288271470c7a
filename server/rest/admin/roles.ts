import type { Pool } from 'pg'
import { z } from 'zod'
import { audited } from '../../../core/audit/audit.ts'
import {
  grantRole,
  listRoles,
  principalNamed,
  ROLES,
  type RoleGrant,
  revokeRole,
} from '../../../core/identity/roles.ts'
import { reason } from '../reason.ts'
import { type AnyRoute, parse, route, staffOf } from '../route.ts'

const Grant = z.object({
  role_id: z.string(),
  name: z.string().meta({ description: 'The address of mail, or the wallet.' }),
  role: z.enum(ROLES),
  granted_by: z.string(),
  granted_at: z.iso.datetime(),
  revoked_by: z.string().nullable(),
  revoked_at: z.iso.datetime().nullable(),
})

const Roles = z.object({
  data: z.array(Grant),
  configured: z.array(z.string()).meta({
    description: 'Wallets of HUB_ADMIN_WALLETS: administrators as long as it names them.',
  }),
})

export type GrantJson = z.infer<typeof Grant>
export type RolesJson = z.infer<typeof Roles>

export interface RolePorts {
  readonly pool: Pool
  /** Wallets of administrators by configuration, in lower case. */
  readonly admins: readonly string[]
}

/** Who has a role, gives one, and takes one away. */
export const roleRoutes = ({ pool, admins }: RolePorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/admin/roles',
    summary: 'Who may see and do what: administrators, and people of finance.',
    auth: 'admin',
    query: z.strictObject({ held: z.enum(['now', 'ever']).default('now') }),
    answer: { status: 200, schema: Roles },
    handle: async ({ query }) => {
      const grants = await listRoles(pool, query.held === 'ever')
      return { body: { data: grants.map(show), configured: admins } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/admin/roles',
    summary: 'Gives somebody a role, by their address of mail or wallet; at once.',
    auth: 'admin',
    body: z.strictObject({
      name: z.string().trim().min(3).max(254),
      role: z.enum(ROLES),
      reason,
    }),
    answer: { status: 201, or: 200, schema: Grant },
    faults: ['not_found'],
    handle: async (request) => {
      const { name, role, reason: why } = request.body
      const by = staffOf(request)
      const made = await audited(pool, by, why, async (client, note) => {
        const principal = await principalNamed(client, name)
        const grant = await grantRole(client, principal, role, by.name)
        if (grant) note({ act: 'role.grant', subject: grant.name, after: { role } })
        return { grant, principal }
      })
      const held = made.grant ?? (await heldBy(pool, made.principal, role))
      return { status: made.grant ? 201 : 200, body: show(held) }
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/admin/roles/{id}',
    summary: 'Takes a role away, at once; an administrator always remains.',
    auth: 'admin',
    body: z.strictObject({ reason }),
    answer: { status: 200, schema: Grant },
    faults: ['not_found', 'last_administrator'],
    handle: async (request) => {
      const id = BigInt(parse(roleId, request.params['id']))
      const by = staffOf(request)
      const taken = await audited(pool, by, request.body.reason, async (client, note) => {
        const grant = await revokeRole(client, id, by.name, admins)
        note({ act: 'role.revoke', subject: grant.name, before: { role: grant.role } })
        return grant
      })
      return { body: show(taken) }
    },
  }),
]

const roleId = z.string().regex(/^\d{1,18}$/, 'not the id of a role')

const heldBy = async (pool: Pool, principal: string, role: string): Promise<RoleGrant> =>
  (await listRoles(pool, false)).find(
    (grant) => grant.principal === principal && grant.role === role,
  )!

const show = (grant: RoleGrant): z.infer<typeof Grant> => ({
  role_id: String(grant.id),
  name: grant.name,
  role: grant.role,
  granted_by: grant.grantedBy,
  granted_at: grant.grantedAt.toISOString(),
  revoked_by: grant.revokedBy,
  revoked_at: grant.revokedAt?.toISOString() ?? null,
})
