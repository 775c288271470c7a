import type { Pool, PoolClient } from 'pg'
import type { SealingKeys } from '../../crypto/sealing.ts'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import type { Injected } from '../../plugin/upstreams.ts'
import type { ReviewRules } from '../review/versions.ts'
import { assertDeclared } from './completeness.ts'
import { findUpstream, isOffered } from './store.ts'
import { recordUpstreamVersion } from './versions.ts'

/** Upstream credential as it is stored. */
export interface StoredSecret extends Omit<Injected, 'place'> {
  /** `oauth2` has `ClientCredentials` as JSON, whose token is sent as the header `name`. */
  readonly place: Injected['place'] | 'oauth2'
}

/** Upstream credential without its value. */
export interface UpstreamSecretInfo {
  readonly place: StoredSecret['place']
  readonly name: string
  /** Id of the encryption key. */
  readonly keyId: string
  readonly setAt: Date
  /** False if its key is missing. */
  readonly readable: boolean
}

/** Binds a sealed secret to its service and place, so that it cannot be used elsewhere. */
const sealingPurpose = (slug: string, { place, name }: Omit<StoredSecret, 'value'>): string =>
  `upstream-secret ${slug} ${place} ${name}`

interface SealedSecret extends Omit<StoredSecret, 'value'> {
  readonly service: string
  /** The only origin that it is sent to. */
  readonly origin: string
  readonly keyId: string
  readonly sealed: Buffer
}

/** Decrypts a secret; undefined if its key is missing. */
export function openSecret(
  keys: SealingKeys,
  secret: Omit<SealedSecret, 'origin'>,
): string | undefined {
  try {
    return keys.open(sealingPurpose(secret.service, secret), secret.keyId, secret.sealed)
  } catch {
    return undefined
  }
}

/** Lists secrets that cannot be decrypted, as `header x-token`, by service, which is not sold. */
export async function unreadableSecrets(
  pool: Pool,
  keys: SealingKeys,
  slugs: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await pool.query<SealedSecret>(
    `SELECT service, origin, place, name, key_id AS "keyId", sealed FROM hub.upstream_secret
     WHERE service = ANY ($1) ORDER BY service, place, name`,
    [slugs],
  )
  const unreadable = rows.filter((row) => openSecret(keys, row) === undefined)
  const byService = Map.groupBy(unreadable, ({ service }) => service)
  const label = ({ place, name }: SealedSecret): string => `${place} ${name}`
  return new Map([...byService].map(([service, secrets]) => [service, secrets.map(label)]))
}

/** Lists the secrets of the owner's newest version. */
export async function listSecrets(
  pool: Pool,
  keys: SealingKeys,
  slug: string,
): Promise<UpstreamSecretInfo[]> {
  const { rows } = await pool.query<
    Omit<SealedSecret, 'origin'> & Pick<UpstreamSecretInfo, 'setAt'>
  >(
    `SELECT s.service, s.place, s.name, s.key_id AS "keyId", s.sealed, s.set_at AS "setAt"
     FROM hub.upstream u JOIN hub.upstream_secret s
       ON s.service = u.slug AND s.origin = hub.origin_of(u.base_url) AND s.listed
     WHERE u.slug = $1 ORDER BY s.place, s.name`,
    [slug],
  )
  return rows.map((row) => ({ ...row, readable: openSecret(keys, row) !== undefined }))
}

/**
 * Replaces all secrets of a service. Another value of a secret is used at once; another place is a
 * new version.
 * @throws Fault `service_not_found`; `service_state` if it is retired; `service_incomplete` if it
 *   is on sale and would lack a required secret
 */
export async function setSecrets(
  pool: Pool,
  keys: SealingKeys,
  manager: KeyManager,
  slug: string,
  secrets: readonly StoredSecret[],
  rules: ReviewRules,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const info = await findUpstream(client, manager, slug, true)
    if (info.state === 'retired') throw new Fault('service_state', 'The service is retired.')
    await client.query('UPDATE hub.upstream_secret SET listed = false WHERE service = $1', [slug])
    for (const secret of secrets) {
      const { keyId, sealed } = keys.seal(sealingPurpose(slug, secret), secret.value)
      await client.query(
        `INSERT INTO hub.upstream_secret (service, origin, place, name, key_id, sealed)
         VALUES ($1, hub.origin_of($2), $3, $4, $5, $6)
         ON CONFLICT (service, origin, place, name) DO UPDATE SET key_id = excluded.key_id,
           sealed = excluded.sealed, set_at = now(), listed = true`,
        [slug, info.baseUrl, secret.place, secret.name, keyId, sealed],
      )
    }
    if (isOffered(info)) await assertDeclared(client, slug)
    await recordUpstreamVersion(client, info, rules)
  })
}

const BATCH = 100

/** Result of re-encrypting secrets. */
export interface ResealResult {
  readonly count: number
  /** Secrets whose key is missing; they are left unchanged. */
  readonly unreadable: number
}

/** Re-encrypts with the current key all secrets sealed with another, which may then be deleted. */
export async function resealSecrets(pool: Pool, keys: SealingKeys): Promise<ResealResult> {
  let [count, unreadable] = [0, 0]
  let after: readonly string[] = ['', '', '', '']
  for (;;) {
    const rows = await inTransaction(pool, async (client) => {
      const { rows: found } = await client.query<SealedSecret>(
        `SELECT service, origin, place, name, key_id AS "keyId", sealed FROM hub.upstream_secret
         WHERE key_id <> $1 AND (service, origin, place, name) > ($2, $3, $4, $5)
         ORDER BY service, origin, place, name LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`,
        [keys.currentId, ...after],
      )
      for (const secret of found) {
        const text = openSecret(keys, secret)
        if (text === undefined) unreadable += 1
        else await resealOne(client, keys, secret, text)
      }
      return found
    })
    count += rows.length
    const last = rows.at(-1)
    if (!last || rows.length < BATCH) return { count: count - unreadable, unreadable }
    after = [last.service, last.origin, last.place, last.name]
  }
}

async function resealOne(
  client: PoolClient,
  keys: SealingKeys,
  { service, origin, ...where }: SealedSecret,
  text: string,
): Promise<void> {
  const { keyId, sealed } = keys.seal(sealingPurpose(service, where), text)
  await client.query(
    `UPDATE hub.upstream_secret SET key_id = $5, sealed = $6
     WHERE service = $1 AND origin = $2 AND place = $3 AND name = $4`,
    [service, origin, where.place, where.name, keyId, sealed],
  )
}
