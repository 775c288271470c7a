import type { Pool } from 'pg'
import { Fault } from '../../core/errors.ts'
import type { Staff } from '../../core/finance/adjustments.ts'
import { findRole, type Role } from '../../core/identity/roles.ts'
import { networkPrefix } from '../../core/usage/network.ts'
import type { RequestIdentity } from './authentication.ts'
import type { AnyRoute } from './route.ts'

export interface StaffDeps {
  readonly pool: Pool
  /** Wallets of configured administrators, in lower case. */
  readonly admins: readonly string[]
}

/** Origin of a request, for the audit log. */
export interface RequestOrigin {
  readonly ip: string
  readonly requestId: string
}

/** Returns the role that a route requires, if any. */
export const requiredRole = ({ auth }: AnyRoute): Role | undefined =>
  auth === 'admin' || auth === 'finance' ? auth : undefined

/** Finds the staff member behind a main key or session. Sub-keys never carry a role. */
export async function findStaff(
  { caller, session }: RequestIdentity,
  { ip, requestId }: RequestOrigin,
  { pool, admins }: StaffDeps,
): Promise<Staff | undefined> {
  if (caller && caller.limits.length > 0) return undefined
  const principal = caller?.principal ?? session?.person
  if (principal === undefined) return undefined
  const role = await findRole(pool, session?.principals ?? [principal], admins)
  if (!role) return undefined
  return {
    name: session?.email ?? caller?.wallet ?? (await emailOf(pool, principal)),
    principal,
    via: caller?.keyId ?? session?.id ?? null,
    role,
    requestId,
    network: networkPrefix(ip),
  }
}

/** @throws Fault `admin_only`, `finance_only` */
export function assertRole(required: Role, staff: Staff | undefined): Staff {
  if (required === 'admin' && staff?.role !== 'admin') throw new Fault('admin_only')
  if (!staff) throw new Fault('finance_only')
  return staff
}

async function emailOf(pool: Pool, person: string): Promise<string> {
  const { rows } = await pool.query<{ email: string }>(
    'SELECT email FROM hub.person WHERE principal = $1',
    [person],
  )
  return rows[0]?.email ?? person
}
