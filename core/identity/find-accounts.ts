import type { Pool } from 'pg'

/** User, provider or key that an administrator looks for. */
export interface FoundAccount {
  readonly kind: 'user' | 'provider' | 'key'
  readonly id: string
  /** Email address or wallet of a user, owner of a provider, name of a key. */
  readonly name: string | null
  /** False if it is suspended, frozen or revoked. */
  readonly active: boolean
}

/** Results of each kind. */
const MAX = 20

const USERS = `
  SELECT 'user' AS kind, p.id, coalesce(e.email, p.wallet_address) AS name, true AS active
  FROM hub.principal p LEFT JOIN hub.person e ON e.principal = p.id
  WHERE p.id = $1 OR p.wallet_address = lower($1)
    OR p.id IN (SELECT principal FROM hub.person WHERE position(lower($1) IN email) > 0 LIMIT $2)
  ORDER BY p.id LIMIT $2`

const PROVIDERS = `
  SELECT 'provider' AS kind, p.id, coalesce(e.email, o.wallet_address) AS name,
    p.suspended_at IS NULL AS active
  FROM hub.provider p LEFT JOIN hub.principal o ON o.id = p.owner
    LEFT JOIN hub.person e ON e.principal = p.owner
  WHERE position(lower($1) IN p.id) > 0 OR p.owner = ANY ($3) ORDER BY p.id LIMIT $2`

/** Keys by id, and those of the users that were found. */
const KEYS = `
  SELECT 'key' AS kind, id, name, frozen_at IS NULL AND revoked_at IS NULL AS active
  FROM hub.api_key WHERE id = $1 OR principal = ANY ($3) ORDER BY id LIMIT $2`

/**
 * Finds users by email address, wallet or id, providers by id or owner, and keys by id or owner;
 * at most 20 of each.
 */
export async function findAccounts(pool: Pool, text: string): Promise<readonly FoundAccount[]> {
  const { rows: users } = await pool.query<FoundAccount>(USERS, [text, MAX])
  const owners = users.map(({ id }) => id)
  const values = [text, MAX, owners]
  const [providers, keys] = await Promise.all([
    pool.query<FoundAccount>(PROVIDERS, values),
    pool.query<FoundAccount>(KEYS, values),
  ])
  return [...users, ...providers.rows, ...keys.rows]
}
