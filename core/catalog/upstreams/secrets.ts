import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { Manager } from '../../identity/children.ts'
import type { Injected } from '../../plugin-upstreams.ts'
import type { SealingKeys } from '../../sealing.ts'
import { findUpstream } from './store.ts'

/** A secret, without what it says. */
export interface SecretInfo {
  readonly place: Injected['place']
  readonly name: string
  /** The key that it is encrypted under. */
  readonly keyId: string
  readonly setAt: Date
}

/** Where a secret belongs; sealed, it can be put nowhere else. */
export const purposeOf = (
  slug: string,
  { place, name }: Pick<Injected, 'place' | 'name'>,
): string => `upstream-secret ${slug} ${place} ${name}`

export async function listSecrets(pool: Pool, slug: string): Promise<SecretInfo[]> {
  const { rows } = await pool.query<SecretInfo>(
    `SELECT place, name, key_id AS "keyId", set_at AS "setAt" FROM hub.upstream_secret
     WHERE service = $1 ORDER BY place, name`,
    [slug],
  )
  return rows
}

/**
 * Puts these secrets in the place of those that there were.
 * @throws Fault `service_not_found`, `service_state` for what is retired
 */
export async function setSecrets(
  pool: Pool,
  keys: SealingKeys,
  manager: Manager,
  slug: string,
  secrets: readonly Injected[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { state } = await findUpstream(client, manager, slug, true)
    if (state === 'retired') throw new Fault('service_state', 'It is retired.')
    await client.query('DELETE FROM hub.upstream_secret WHERE service = $1', [slug])
    for (const secret of secrets) {
      const { keyId, sealed } = keys.seal(purposeOf(slug, secret), secret.value)
      await client.query(
        `INSERT INTO hub.upstream_secret (service, place, name, key_id, sealed)
         VALUES ($1, $2, $3, $4, $5)`,
        [slug, secret.place, secret.name, keyId, sealed],
      )
    }
  })
}

const BATCH = 100

/**
 * Encrypts anew, under the key that seals now, what another one sealed: after it the old key may be
 * thrown away.
 * @returns how many
 * @throws Error when a key is not there any more
 */
export async function reseal(pool: Pool, keys: SealingKeys): Promise<number> {
  let count = 0
  for (;;) {
    const done = await inTransaction(pool, async (client) => {
      const { rows } = await client.query<
        Omit<Injected, 'value'> & { service: string; keyId: string; sealed: Buffer }
      >(
        `SELECT service, place, name, key_id AS "keyId", sealed FROM hub.upstream_secret
         WHERE key_id <> $1 LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`,
        [keys.current],
      )
      for (const { service, keyId, sealed, ...where } of rows) {
        const purpose = purposeOf(service, where)
        const anew = keys.seal(purpose, keys.open(purpose, keyId, sealed))
        await client.query(
          `UPDATE hub.upstream_secret SET key_id = $4, sealed = $5
           WHERE service = $1 AND place = $2 AND name = $3`,
          [service, where.place, where.name, anew.keyId, anew.sealed],
        )
      }
      return rows.length
    })
    count += done
    if (done < BATCH) return count
  }
}
