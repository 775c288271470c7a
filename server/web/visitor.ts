import type { Pool } from 'pg'
import { sumMainKeys } from '../../core/identity/main-keys.ts'
import type { Role } from '../../core/identity/roles.ts'
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
}

/** Reads what the frame shows of a session; undefined without one. */
export async function readVisitor(
  session: Session | undefined,
  { pool }: VisitorDeps,
): Promise<Visitor | undefined> {
  if (!session) return undefined
  const { name, principals, role } = session
  const { credits } = await sumMainKeys(pool, principals)
  return { name, credits, role }
}
