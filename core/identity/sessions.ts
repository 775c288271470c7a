import { randomBytes } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { sha256 } from '../crypto/sha256.ts'
import { prefixedId } from '../ids.ts'
import { highestRole, type Role, rolesSql } from './roles.ts'
import type { KeyManager } from './sub-keys.ts'

/** Session of a signed-in person, or of a wallet that signed in for itself. */
export interface Session {
  readonly id: string
  /** Principal of the account. */
  readonly person: string
  /** Null if a wallet signed in. */
  readonly email: string | null
  /** Email address, or wallet address in lower case. */
  readonly name: string
  /** Principals of the person and of the linked wallets. */
  readonly principals: KeyManager
  /** Highest role of these principals, if they have one. */
  readonly role: Role | undefined
  /** Seconds since the person signed in. */
  readonly ageSeconds: number
}

/** Rules for sessions of staff, which end sooner than others. */
export interface StaffSessionRules {
  /** Wallets of configured administrators, in lower case. */
  readonly admins: readonly string[]
  readonly staff: { readonly sessionHours: number }
}

/** Origin of a session, shown to its owner to recognize it. */
export interface SessionOrigin {
  /** User-Agent of the browser. */
  readonly agent: string
  readonly network: string
}

export interface SessionInfo extends SessionOrigin {
  readonly id: string
  readonly created_at: Date
  readonly used_at: Date
  readonly expires_at: Date
}

/** New session; the database stores only the hash of its token. */
export interface OpenedSession {
  readonly id: string
  /** Value of the cookie. */
  readonly token: string
}

export const SESSION_DAYS = 30
const AGENT_MAX = 200
/** Maximum per person; beyond it, the least recently used end. */
const SESSIONS_MAX = 50

export const hashToken = (token: string): Buffer => sha256(token)

/**
 * Opens a session, in the transaction of `client`.
 * @param replaced session of the browser, which ends if it is of the same person
 */
export async function openSession(
  client: PoolClient,
  person: string,
  { agent, network }: SessionOrigin,
  replaced?: Session,
): Promise<OpenedSession> {
  const session = { id: prefixedId('ses'), token: randomBytes(32).toString('base64url') }
  if (replaced?.person === person) {
    await client.query('DELETE FROM hub.session WHERE id = $1', [replaced.id])
  }
  await client.query(
    `DELETE FROM hub.session WHERE person = $1 AND id NOT IN (SELECT id FROM hub.session
       WHERE person = $1 ORDER BY used_at DESC LIMIT $2)`,
    [person, SESSIONS_MAX - 1],
  )
  await client.query(
    `INSERT INTO hub.session (id, hash, person, agent, network, expires_at)
     VALUES ($1, $2, $3, $4, $5, now() + make_interval(days => $6))`,
    [
      session.id,
      hashToken(session.token),
      person,
      agent.slice(0, AGENT_MAX),
      network,
      SESSION_DAYS,
    ],
  )
  return session
}

/** SQL of the end of session `s`. The parameters are wallets of administrators, and hours. */
const ENDS_AT = (admins: number, hours: number): string =>
  `CASE WHEN hub.is_staff(s.person, $${admins}) THEN
    least(s.expires_at, s.created_at + make_interval(hours => $${hours})) ELSE s.expires_at END`

interface SessionRow extends Omit<Session, 'role'> {
  readonly roles: readonly Role[]
  /** True if its last use has not been stored for a while. */
  readonly stale: boolean
}

const FIND_SQL = `
  SELECT s.id, s.person, p.email, coalesce(p.email, a.wallet_address) AS name,
    s.used_at < now() - interval '1 minute' AS stale,
    extract(epoch FROM now() - s.created_at)::integer AS "ageSeconds",
    k.principals, ARRAY(${rolesSql('k.principals', '$2')}) AS roles
  FROM hub.session s JOIN hub.principal a ON a.id = s.person
    LEFT JOIN hub.person p ON p.principal = s.person
    CROSS JOIN LATERAL (SELECT ARRAY(SELECT s.person UNION ALL
      SELECT l.wallet FROM hub.wallet_link l WHERE l.person = s.person) AS principals
      OFFSET 0) k
  WHERE s.hash = $1 AND ${ENDS_AT(2, 3)} > now()`

/** Finds a session by its token; undefined if it ended or never existed. */
export async function findSession(
  pool: Pool,
  token: string,
  { admins, staff }: StaffSessionRules,
): Promise<Session | undefined> {
  // Named, because planning takes longer than reading one session.
  const values = [hashToken(token), admins, staff.sessionHours]
  const { rows } = await pool.query<SessionRow>({ name: 'sessions.find', text: FIND_SQL, values })
  const [row] = rows
  if (!row) return undefined
  const { stale, roles, ...session } = row
  if (stale) await pool.query('UPDATE hub.session SET used_at = now() WHERE id = $1', [session.id])
  return { ...session, role: highestRole(roles) }
}

/** Lists the sessions of a person, newest first. */
export async function listSessions(
  pool: Pool,
  { person }: Session,
  { admins, staff }: StaffSessionRules,
): Promise<SessionInfo[]> {
  const { rows } = await pool.query<SessionInfo>(
    `SELECT id, agent, network, created_at, used_at, e.at AS expires_at
     FROM hub.session s CROSS JOIN LATERAL (SELECT ${ENDS_AT(2, 3)} AS at) e
     WHERE person = $1 AND e.at > now() ORDER BY created_at DESC, id`,
    [person, admins, staff.sessionHours],
  )
  return rows
}

/** Ends one or all sessions of a person at once. @returns number of ended sessions */
export async function endSessions(pool: Pool, { person }: Session, id?: string): Promise<number> {
  const { rowCount } = await pool.query(
    'DELETE FROM hub.session WHERE person = $1 AND ($2::text IS NULL OR id = $2)',
    [person, id ?? null],
  )
  return rowCount ?? 0
}
