import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { prefixedId } from '../ids.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { creditsOf } from '../ledger/postings.ts'
import { ADD_SECRET, generateKey, hashOf, type NewSecret, prefixOf } from './secret.ts'

export interface Principal {
  readonly id: string
  readonly shard: number
}

export interface RootOrder {
  readonly name?: string | null
  readonly expiresAt?: Date | null
}

/** Of one principal, the revoked ones included: an account of the ledger is for ever. */
const ROOTS_MAX = 1_000

/**
 * Makes a root: a key with credits of its own.
 * @param guard runs in the transaction that makes it; what it throws undoes that
 * @throws Fault `key_limit_reached` when the principal has too many
 */
export async function makeRoot(
  pool: Pool,
  ledger: Ledger,
  { id, shard }: Principal,
  { name = null, expiresAt = null }: RootOrder = {},
  guard: (client: PoolClient) => Promise<void> = async () => {},
): Promise<NewSecret> {
  const keyId = prefixedId('key')
  const apiKey = generateKey()
  const credits = await ledger.open(creditsOf(keyId), 'USDC', { home: shard })
  await inTransaction(pool, async (client) => {
    await guard(client)
    const { rowCount } = await client.query(
      `INSERT INTO hub.api_key (id, principal, credits, name, expires_at)
       SELECT $1, $2, $3, $4, $5 WHERE $6 > (SELECT count(*) FROM hub.api_key
         WHERE principal = $2 AND parent IS NULL)`,
      [keyId, id, credits.id, name, expiresAt, ROOTS_MAX],
    )
    if (rowCount !== 1) throw tooMany()
    await client.query(ADD_SECRET, [hashOf(apiKey), keyId, prefixOf(apiKey)])
  })
  return { keyId, apiKey }
}

const tooMany = (): Fault =>
  new Fault('key_limit_reached', `A wallet or account has ${ROOTS_MAX} keys at most.`, {
    extras: { scope: 'roots' },
  })

/** The principal of a wallet, made when it is new. @param wallet in lower case */
export async function principalOf(pool: Pool, wallet: string): Promise<Principal> {
  await pool.query(
    `INSERT INTO hub.principal (id, wallet_address, shard)
     SELECT $1, $2, (hashtext($2) & 2147483647) % count(*) FROM ledger.head
     ON CONFLICT (wallet_address) DO NOTHING`,
    [prefixedId('prn'), wallet],
  )
  const { rows } = await pool.query<Principal>(
    'SELECT id, shard FROM hub.principal WHERE wallet_address = $1',
    [wallet],
  )
  return rows[0]!
}

/** A key that holds credits. */
export interface Root {
  readonly id: string
  readonly name: string | null
  /** Null: of a person. */
  readonly wallet: string | null
  /** Credits, in microdollars. */
  readonly balance: bigint
  readonly revoked: boolean
  readonly frozen: boolean
}

/** The roots of principals, those that are revoked too, by wallet and age. */
export async function listRoots(
  pool: Pool,
  principals: readonly string[],
): Promise<readonly Root[]> {
  const { rows } = await pool.query<Root>(
    `SELECT k.id, k.name, p.wallet_address AS wallet, b.balance,
       k.revoked_at IS NOT NULL AS revoked, k.frozen_at IS NOT NULL AS frozen
     FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal
       JOIN ledger.balance b ON b.account = k.credits AND b.shard = p.shard
     WHERE k.principal = ANY ($1) AND k.parent IS NULL
     ORDER BY p.wallet_address, k.created_at, k.id LIMIT $2`,
    [principals, ROOTS_MAX],
  )
  return rows
}

export interface RootSums {
  readonly roots: number
  /** Microdollars that all of them have. */
  readonly credits: bigint
  /** One of them; null: there is none. */
  readonly keyId: string | null
}

/** The roots of principals that are not revoked, and what they have in all. */
export async function sumsOfRoots(pool: Pool, principals: readonly string[]): Promise<RootSums> {
  const { rows } = await pool.query<RootSums>(
    `SELECT count(*)::integer AS roots, coalesce(sum(b.balance), 0)::bigint AS credits,
       min(k.id) AS "keyId"
     FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal
       JOIN ledger.balance b ON b.account = k.credits AND b.shard = p.shard
     WHERE k.principal = ANY ($1) AND k.parent IS NULL AND k.revoked_at IS NULL`,
    [principals],
  )
  return rows[0]!
}
