import type { Pool } from 'pg'
import { Fault } from '../../core/errors.ts'
import type { Staff } from '../../core/finance/adjustments.ts'
import { type Role, roleOf } from '../../core/identity/roles.ts'
import { networkOf } from '../../core/usage/network.ts'
import type { AnyRoute } from './route.ts'
import type { Visitor } from './visitor.ts'

export interface StaffPorts {
  readonly pool: Pool
  /** Wallets of administrators by configuration, in lower case. */
  readonly admins: readonly string[]
}

/** Where somebody asks from. */
export interface Origin {
  readonly ip: string
  readonly requestId: string
}

/** The role that a route needs; undefined: none. */
export const neededRole = ({ auth }: AnyRoute): Role | undefined =>
  auth === 'admin' || auth === 'finance' ? auth : undefined

/**
 * Somebody of the house, by their key or their session; undefined for everybody else. A key that
 * another key made is for its holder's calls, and for nothing of the house.
 */
export async function findStaff(
  { caller, session }: Visitor,
  { ip, requestId }: Origin,
  { pool, admins }: StaffPorts,
): Promise<Staff | undefined> {
  if (caller && caller.limits.length > 0) return undefined
  const principal = caller?.principal ?? session?.person
  if (principal === undefined) return undefined
  const role = await roleOf(pool, session?.principals ?? [principal], admins)
  if (!role) return undefined
  return {
    name: session?.email ?? caller?.wallet ?? (await emailOf(pool, principal)),
    principal,
    via: caller?.keyId ?? session?.id ?? null,
    role,
    requestId,
    network: networkOf(ip),
  }
}

/** @throws Fault `admin_only`, `finance_only` */
export function assertRole(needed: Role, staff: Staff | undefined): Staff {
  if (needed === 'admin' && staff?.role !== 'admin') throw new Fault('admin_only')
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
