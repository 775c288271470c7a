import { randomBytes } from 'node:crypto'
import type { ClientBase, PoolClient } from 'pg'
import { Fault } from '../errors.ts'
import { PLATFORM_PROVIDER } from '../usage/commission.ts'

/** Returns the provider id of a principal, created on first use. */
export async function ensureProvider(client: PoolClient, principal: string): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO hub.provider (id, owner) VALUES ($1, $2)
     ON CONFLICT (owner) DO UPDATE SET owner = excluded.owner RETURNING id`,
    [`p-${randomBytes(10).toString('hex')}`, principal],
  )
  return rows[0]!.id
}

/** Ids created by `ensureProvider`; all others are declared by plugins. */
export const GENERATED_ID = /^p-[0-9a-f]{20}$/

/**
 * Assigns an owner to a provider declared by a plugin. The owner sees its sales and signs for the
 * payout address; an address of the previous owner becomes invalid.
 * @returns email or wallet address of the previous owner; null if there was none
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
  if (!rows[0]) throw new Fault('not_found', 'No provider has this id.')
  if (provider === PLATFORM_PROVIDER) {
    throw new Fault('owner_not_possible', "The platform's own provider receives no payouts.")
  }
  if (GENERATED_ID.test(provider)) {
    throw new Fault(
      'owner_not_possible',
      'This provider belongs to the account that listed its services, not to a plugin.',
    )
  }
  const other = await client.query<{ id: string }>(
    'SELECT id FROM hub.provider WHERE owner = $1 AND id <> $2',
    [principal, provider],
  )
  if (other.rows[0]) {
    const detail = `The owner already has provider ${other.rows[0].id}: choose another wallet.`
    throw new Fault('owner_not_possible', detail)
  }
  await client.query('UPDATE hub.provider SET owner = $2 WHERE id = $1', [provider, principal])
  return rows[0].name
}
