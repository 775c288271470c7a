import { randomBytes } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { hashToken } from './sessions.ts'

/** Lifetime of the cookie; browsers allow no more (RFC 6265bis §5.5). */
export const DEVICE_DAYS = 400
/** Maximum per person; beyond it, the least recently used are forgotten. */
const DEVICES_MAX = 20

/** Remembers the browser in which a person signed in. @returns the value of its cookie */
export async function rememberDevice(client: PoolClient, person: string): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await client.query(
    `DELETE FROM hub.device WHERE person = $1 AND hash NOT IN (SELECT hash FROM hub.device
       WHERE person = $1 ORDER BY used_at DESC LIMIT $2)`,
    [person, DEVICES_MAX - 1],
  )
  await client.query('INSERT INTO hub.device (hash, person) VALUES ($1, $2)', [
    hashToken(token),
    person,
  ])
  return token
}

/** Cookies of a browser that may have signed in before. */
export interface BrowserTokens {
  readonly device: string | undefined
  readonly session: string | undefined
}

/**
 * Finds the device or the session by which a browser is known to the person with this address.
 * @param email lower case
 * @returns its name for counting; undefined for a stranger
 */
export async function findKnownDevice(
  pool: Pool,
  { device, session }: BrowserTokens,
  email: string,
): Promise<string | undefined> {
  if (device === undefined && session === undefined) return undefined
  const { rows } = await pool.query<{ name: string }>(
    `WITH person AS (SELECT principal AS id FROM hub.person WHERE email = $3),
       device AS (UPDATE hub.device d SET used_at = now() FROM person p
         WHERE d.hash = $1 AND d.person = p.id RETURNING encode(d.hash, 'hex') AS name)
     SELECT name FROM device
     UNION ALL SELECT s.id FROM hub.session s JOIN person p ON p.id = s.person
       WHERE s.hash = $2 AND s.expires_at > now() LIMIT 1`,
    [device === undefined ? null : hashToken(device), session ? hashToken(session) : null, email],
  )
  return rows[0]?.name
}
