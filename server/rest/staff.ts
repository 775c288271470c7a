import type { Pool } from 'pg'
import { recordRefusal } from '../../core/audit/record.ts'
import type { Config } from '../../core/config.ts'
import { Fault } from '../../core/errors.ts'
import type { Staff } from '../../core/finance/staff-acts.ts'
import { isFreshlySigned } from '../../core/identity/main-keys.ts'
import { findRole, ROLES, type Role } from '../../core/identity/roles.ts'
import { limitWait } from '../../core/ledger/retry.ts'
import { networkPrefix } from '../../core/usage/network.ts'
import type { RequestIdentity } from './authentication.ts'
import type { AnyRoute } from './route.ts'

export interface StaffDeps {
  readonly pool: Pool
  /** Wallets of configured administrators, in lower case. */
  readonly admins: readonly string[]
  readonly staff: Config['staff']
}

/** Origin of a request, for the audit log. */
export interface RequestOrigin {
  readonly ip: string
  readonly requestId: string
}

/** Returns the lowest role that a route requires, if any: auditors read all of finance. */
export const requiredRole = ({ auth, method }: AnyRoute): Role | undefined =>
  auth === 'finance' && method === 'GET' ? 'auditor' : ROLES.find((role) => role === auth)

/**
 * Finds the staff member behind a main key or session. Sub-keys never carry a role.
 * @throws LedgerUnavailable if the database does not respond in time
 */
export async function findStaff(
  { caller, session }: RequestIdentity,
  { ip, requestId }: RequestOrigin,
  { pool, admins }: StaffDeps,
): Promise<Staff | undefined> {
  if (caller && caller.limits.length > 0) return undefined
  const principal = caller?.principal ?? session?.person
  if (principal === undefined) return undefined
  const role = session ? session.role : await limitWait(findRole(pool, principal, admins))
  if (!role) return undefined
  return {
    name: session?.name ?? caller?.wallet ?? (await limitWait(emailOf(pool, principal))),
    principal,
    via: caller?.keyId ?? session?.id ?? null,
    role,
    requestId,
    network: networkPrefix(ip),
  }
}

/** @throws Fault `admin_only`, `finance_only` */
function assertRole(required: Role, staff: Staff | undefined): void {
  const held = ROLES.findIndex((role) => role === staff?.role)
  if (held !== -1 && held <= ROLES.indexOf(required)) return
  const sufficient = ROLES.slice(0, ROLES.indexOf(required) + 1).join(' or ')
  throw new Fault(
    required === 'admin' ? 'admin_only' : 'finance_only',
    `Use a main key or account with the role ${sufficient}. An administrator grants roles.`,
  )
}

const MINUTE_SECONDS = 60

/**
 * Throws unless the staff member who changes something proved their identity recently: signed in,
 * or registered the wallet of the key. A stolen cookie or key alone is not enough.
 * @throws Fault `fresh_authentication_required`
 */
async function assertFresh(
  { method }: AnyRoute,
  { caller, session }: RequestIdentity,
  { pool, staff: { freshMinutes, freshKeys } }: StaffDeps,
): Promise<void> {
  if (method === 'GET') return
  const isFresh = caller
    ? !freshKeys || (await limitWait(isFreshlySigned(pool, caller.keyId, freshMinutes)))
    : session !== undefined && session.ageSeconds <= freshMinutes * MINUTE_SECONDS
  if (!isFresh) throw new Fault('fresh_authentication_required')
}

interface StaffRequest {
  readonly path: string
  readonly identity: RequestIdentity
  readonly staff: Staff | undefined
}

/**
 * Runs a request after the checks of its role, if the route requires one. Records in the audit log
 * if a staff member is refused (403) a change.
 * @throws Fault as `assertRole` and `assertFresh`
 */
export async function runAsStaff<T>(
  route: AnyRoute,
  { path, identity, staff }: StaffRequest,
  deps: StaffDeps,
  work: () => Promise<T>,
): Promise<T> {
  const { method } = route
  const role = requiredRole(route)
  try {
    if (role) {
      assertRole(role, staff)
      await assertFresh(route, identity, deps)
    }
    return await work()
  } catch (error) {
    if (staff && method !== 'GET' && error instanceof Fault && error.status === 403) {
      await recordRefusal(deps.pool, staff, `${method} ${path}`, error)
    }
    throw error
  }
}

async function emailOf(pool: Pool, person: string): Promise<string> {
  const { rows } = await pool.query<{ email: string }>(
    'SELECT email FROM hub.person WHERE principal = $1',
    [person],
  )
  return rows[0]?.email ?? person
}
