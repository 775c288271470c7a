import { randomBytes } from 'node:crypto'
import type { PoolClient } from 'pg'

/** The provider that a principal is: made the first time, and then always the same. */
export async function providerOf(client: PoolClient, principal: string): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO hub.provider (id, owner) VALUES ($1, $2)
     ON CONFLICT (owner) DO UPDATE SET owner = excluded.owner RETURNING id`,
    [`p-${randomBytes(10).toString('hex')}`, principal],
  )
  return rows[0]!.id
}
