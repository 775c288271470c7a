import { randomBytes } from 'node:crypto'
import type { ClientBase, PoolClient } from 'pg'
import { Fault } from '../errors.ts'
import { PLATFORM_PROVIDER } from '../usage/commission.ts'

/** The provider that a principal is: made the first time, and then always the same. */
export async function ensureProvider(client: PoolClient, principal: string): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO hub.provider (id, owner) VALUES ($1, $2)
     ON CONFLICT (owner) DO UPDATE SET owner = excluded.owner RETURNING id`,
    [`p-${randomBytes(10).toString('hex')}`, principal],
  )
  return rows[0]!.id
}

/** As `providerOf` makes them; any other one is declared by a plugin. */
const GENERATED_ID = /^p-[0-9a-f]{20}$/

/**
 * Says who earns with a provider that a plugin declares: from then on its owner sees the sales and
 * signs for where they are paid. An address of an earlier owner counts no more.
 * @returns whose it was, by name; null: nobody's
 * @throws Fault `not_found`, `owner_not_possible`
 */
export async function assignOwner(
  client: ClientBase,
  provider: string,
  principal: string,
): Promise<string | null> {
  const { rows } = await client.query<{ name: string | null }>(
    `SELECT coalesce(h.email, o.wallet_address) AS name FROM hub.provider p
     LEFT JOIN hub.principal o ON o.id = p.owner LEFT JOIN hub.person h ON h.principal = o.id
     WHERE p.id = $1 FOR NO KEY UPDATE OF p`,
    [provider],
  )
  if (!rows[0]) throw new Fault('not_found', 'There is no such provider.')
  if (provider === PLATFORM_PROVIDER) {
    throw new Fault('owner_not_possible', 'This provider is the house: it is paid nothing out.')
  }
  if (GENERATED_ID.test(provider)) {
    throw new Fault('owner_not_possible', 'No plugin declares it: it is who listed its services.')
  }
  const other = await client.query<{ id: string }>(
    'SELECT id FROM hub.provider WHERE owner = $1 AND id <> $2',
    [principal, provider],
  )
  if (other.rows[0]) {
    const detail = `They are provider ${other.rows[0].id} already: name another wallet of theirs.`
    throw new Fault('owner_not_possible', detail)
  }
  await client.query('UPDATE hub.provider SET owner = $2 WHERE id = $1', [provider, principal])
  return rows[0].name
}
