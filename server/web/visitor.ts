import type { Pool } from 'pg'
import { sumMainKeys } from '../../core/identity/main-keys.ts'
import { findRole, type Role } from '../../core/identity/roles.ts'
import type { Session } from '../../core/identity/sessions.ts'

/** Signed-in visitor, as shown in the frame of a page. */
export interface Visitor {
  /** Email address, or wallet address. */
  readonly name: string
  /** Credits of all main keys, in microdollars. */
  readonly credits: bigint
  readonly role: Role | undefined
}

export interface VisitorDeps {
  readonly pool: Pool
  /** Wallets of administrators by configuration, in lowercase. */
  readonly admins: readonly string[]
}

/** Reads what the frame shows of a session; undefined without one. */
export async function readVisitor(
  session: Session | undefined,
  { pool, admins }: VisitorDeps,
): Promise<Visitor | undefined> {
  if (!session) return undefined
  const { name, principals } = session
  const [{ credits }, role] = await Promise.all([
    sumMainKeys(pool, principals),
    findRole(pool, principals, admins),
  ])
  return { name, credits, role }
}
