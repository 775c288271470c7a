import type { Pool, PoolClient } from 'pg'
import type { SealingKeys } from '../../crypto/sealing.ts'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { Manager } from '../../identity/children.ts'
import type { Injected } from '../../plugin/upstreams.ts'
import { assertComplete, isOffered } from './missing.ts'
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
const purposeOf = (slug: string, { place, name }: Pick<Injected, 'place' | 'name'>): string =>
  `upstream-secret ${slug} ${place} ${name}`

interface SealedSecret extends Omit<Injected, 'value'> {
  readonly service: string
  readonly keyId: string
  readonly sealed: Buffer
}

/** What a secret says; undefined: no key opens it any more. */
export function opened(keys: SealingKeys, secret: SealedSecret): string | undefined {
  try {
    return keys.open(purposeOf(secret.service, secret), secret.keyId, secret.sealed)
  } catch {
    return undefined
  }
}

/**
 * Secrets that cannot be read, as `header x-token`, by service. A service that has one is not sold
 * until its owner has set it anew, or its key is back.
 */
export async function unreadableSecrets(
  pool: Pool,
  keys: SealingKeys,
  slugs: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await pool.query<SealedSecret>(
    `SELECT service, place, name, key_id AS "keyId", sealed FROM hub.upstream_secret
     WHERE service = ANY ($1) ORDER BY service, place, name`,
    [slugs],
  )
  const lost = rows.filter((row) => opened(keys, row) === undefined)
  const byService = Map.groupBy(lost, ({ service }) => service)
  const named = ({ place, name }: SealedSecret): string => `${place} ${name}`
  return new Map([...byService].map(([service, secrets]) => [service, secrets.map(named)]))
}

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
 * @throws Fault `service_not_found`, `service_state` for what is retired, `service_incomplete` for
 *   none where what is sold needs one
 */
export async function setSecrets(
  pool: Pool,
  keys: SealingKeys,
  manager: Manager,
  slug: string,
  secrets: readonly Injected[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const info = await findUpstream(client, manager, slug, true)
    if (info.state === 'retired') throw new Fault('service_state', 'It is retired.')
    await client.query('DELETE FROM hub.upstream_secret WHERE service = $1', [slug])
    for (const secret of secrets) {
      const { keyId, sealed } = keys.seal(purposeOf(slug, secret), secret.value)
      await client.query(
        `INSERT INTO hub.upstream_secret (service, place, name, key_id, sealed)
         VALUES ($1, $2, $3, $4, $5)`,
        [slug, secret.place, secret.name, keyId, sealed],
      )
    }
    if (isOffered(info)) await assertComplete(client, slug)
  })
}

const BATCH = 100

/** What came of encrypting anew. */
export interface Resealed {
  readonly count: number
  /** Those that no key opens any more; they stay as they are. */
  readonly unreadable: number
}

/**
 * Encrypts anew, under the key that seals now, what another one sealed: when none is left and none
 * is unreadable, the old key may be thrown away.
 */
export async function reseal(pool: Pool, keys: SealingKeys): Promise<Resealed> {
  let [count, unreadable] = [0, 0]
  let after: readonly string[] = ['', '', '']
  for (;;) {
    const rows = await inTransaction(pool, async (client) => {
      const { rows: found } = await client.query<SealedSecret>(
        `SELECT service, place, name, key_id AS "keyId", sealed FROM hub.upstream_secret
         WHERE key_id <> $1 AND (service, place, name) > ($2, $3, $4)
         ORDER BY service, place, name LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`,
        [keys.current, ...after],
      )
      for (const secret of found) {
        const text = opened(keys, secret)
        if (text === undefined) unreadable += 1
        else await sealAnew(client, keys, secret, text)
      }
      return found
    })
    count += rows.length
    const last = rows.at(-1)
    if (!last || rows.length < BATCH) return { count: count - unreadable, unreadable }
    after = [last.service, last.place, last.name]
  }
}

async function sealAnew(
  client: PoolClient,
  keys: SealingKeys,
  { service, ...where }: SealedSecret,
  text: string,
): Promise<void> {
  const { keyId, sealed } = keys.seal(purposeOf(service, where), text)
  await client.query(
    `UPDATE hub.upstream_secret SET key_id = $4, sealed = $5
     WHERE service = $1 AND place = $2 AND name = $3`,
    [service, where.place, where.name, keyId, sealed],
  )
}
