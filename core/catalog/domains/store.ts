import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import { prefixedId } from '../../ids.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { earningsOf } from '../../ledger/postings.ts'
import { ensureProvider } from '../../providers/providers.ts'
import type { ProofMethod } from '../listings/find-proof.ts'
import type { ReviewRules } from '../review/versions.ts'
import { defaultTexts, recordDomainVersion, withdrawDomainVersion } from './versions.ts'

/** Claim of a principal to a host. */
export interface Domain {
  readonly id: string
  readonly host: string
  readonly origin: string
  readonly owner: string
  readonly provider: string
  /** Slug of the service that sells its pages; null until ownership is proven. */
  readonly slug: string | null
  /** Slug of its earnings account, kept after the host is transferred. */
  readonly soldAs: string | null
  readonly name: string
  readonly summary: string
  readonly state: 'pending' | 'verified' | 'expired' | 'transferred' | 'deleted'
  /** False if the owner has stopped selling. */
  readonly selling: boolean
  readonly method: ProofMethod | null
  readonly createdAt: Date
  readonly provenAt: Date | null
  readonly nextCheckAt: Date | null
  /** Time at which the owner was notified that the proof is missing; null if it is not. */
  readonly noticedAt: Date | null
}

export const DOMAIN_COLUMNS = `id, host, origin, owner, provider, slug, sold_as AS "soldAs",
  name, summary, state, selling, method,
  created_at AS "createdAt", proven_at AS "provenAt", next_check_at AS "nextCheckAt",
  noticed_at AS "noticedAt"`

export interface NewDomain {
  readonly origin: string
  /** @defaultValue the host */
  readonly name: string | undefined
  readonly summary: string | undefined
  /** @defaultValue derived from the host */
  readonly slug: string | undefined
  /** Version of the key from which the token derives that the owner is shown. */
  readonly tokenVersion: number
}

const DOMAINS_MAX = 200

/**
 * Registers a host whose pages the owner wants to sell. Nothing is sold before ownership is proven.
 * Registering the host again returns the same domain.
 * @throws Fault `too_many_domains`
 */
export function registerDomain(
  pool: Pool,
  owner: string,
  { origin, name, summary, slug, tokenVersion }: NewDomain,
  rules: ReviewRules,
): Promise<Domain> {
  const { hostname: host } = new URL(origin)
  const texts = defaultTexts(host)
  return inTransaction(pool, async (client) => {
    const provider = await ensureProvider(client, owner)
    const { rows: counts } = await client.query<{ others: number }>(
      `SELECT count(*)::integer AS others FROM hub.domain
       WHERE owner = $1 AND host <> $2 AND state <> 'deleted'`,
      [owner, host],
    )
    if (counts[0]!.others >= DOMAINS_MAX) throw new Fault('too_many_domains')
    const { rows } = await client.query<Domain>(
      `INSERT INTO hub.domain AS d (id, host, origin, owner, provider, wanted, name, summary,
         token_version)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $11)
       ON CONFLICT (owner, host) WHERE state <> 'deleted' DO UPDATE SET
         token_version = CASE d.state WHEN 'pending' THEN $11 ELSE d.token_version END,
         wanted = coalesce($6, d.wanted), name = coalesce($9, d.name),
         summary = coalesce($10, d.summary)
       RETURNING ${DOMAIN_COLUMNS}`,
      [
        prefixedId('dom'),
        host,
        origin,
        owner,
        provider,
        slug ?? null,
        name ?? texts.name,
        summary ?? texts.summary,
        name ?? null,
        summary ?? null,
        tokenVersion,
      ],
    )
    await recordDomainVersion(client, rows[0]!, rules)
    return rows[0]!
  })
}

/** Lists the domains of an owner, sorted by host and id, after `after`. */
export async function listDomains(
  pool: Pool,
  manager: KeyManager,
  {
    limit,
    after,
  }: { readonly limit: number; readonly after: readonly [string, string] | undefined },
): Promise<Domain[]> {
  const { rows } = await pool.query<Domain>(
    `SELECT ${DOMAIN_COLUMNS} FROM hub.domain WHERE owner = ANY ($1) AND state <> 'deleted'
       AND (host, id) > ($2, $3) ORDER BY host, id LIMIT $4`,
    [manager, after?.[0] ?? '', after?.[1] ?? '', limit],
  )
  return rows
}

/** @throws Fault `domain_not_found`, also for domains of other owners */
export async function findDomain(
  on: Pick<Pool, 'query'>,
  manager: KeyManager,
  id: string,
): Promise<Domain> {
  const { rows } = await on.query<Domain>(
    `SELECT ${DOMAIN_COLUMNS} FROM hub.domain
     WHERE id = $1 AND owner = ANY ($2) AND state <> 'deleted'`,
    [id, manager],
  )
  if (!rows[0]) throw new Fault('domain_not_found')
  return rows[0]
}

export interface DomainChange {
  readonly name?: string | undefined
  readonly summary?: string | undefined
  readonly selling?: boolean | undefined
}

/** Changes name, summary or sale of a domain. @throws Fault `domain_not_found` */
export const changeDomain = (
  pool: Pool,
  manager: KeyManager,
  id: string,
  { name, summary, selling }: DomainChange,
  rules: ReviewRules,
): Promise<Domain> =>
  inTransaction(pool, async (client) => {
    const { rows } = await client.query<Domain>(
      `UPDATE hub.domain SET name = coalesce($3, name), summary = coalesce($4, summary),
         selling = coalesce($5, selling)
       WHERE id = $1 AND owner = ANY ($2) AND state <> 'deleted' RETURNING ${DOMAIN_COLUMNS}`,
      [id, manager, name ?? null, summary ?? null, selling ?? null],
    )
    if (!rows[0]) throw new Fault('domain_not_found')
    await recordDomainVersion(client, rows[0], rules)
    return rows[0]
  })

/** Withdraws texts that await approval. @throws Fault `domain_not_found`, `service_state` */
export const withdrawTexts = (pool: Pool, manager: KeyManager, id: string): Promise<Domain> =>
  inTransaction(pool, async (client) => {
    await findDomain(client, manager, id)
    await withdrawDomainVersion(client, id)
    return findDomain(client, manager, id)
  })

/**
 * Deletes a domain; its pages are no longer sold. Earnings are kept, and the slug stays with the
 * host for the next owner who proves it.
 * @throws Fault `domain_not_found`
 */
export async function deleteDomain(pool: Pool, manager: KeyManager, id: string): Promise<Domain> {
  const { rows } = await pool.query<Domain>(
    `UPDATE hub.domain SET state = 'deleted', next_check_at = NULL
     WHERE id = $1 AND owner = ANY ($2) AND state <> 'deleted' RETURNING ${DOMAIN_COLUMNS}`,
    [id, manager],
  )
  if (!rows[0]) throw new Fault('domain_not_found')
  return rows[0]
}

/** Returns the slug that sells the pages of a host, if any. */
export async function findSlugOfHost(pool: Pool, host: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ slug: string }>(
    `SELECT slug FROM hub.domain WHERE host = $1 AND state = 'verified' AND selling`,
    [host],
  )
  return rows[0]?.slug
}

/** Returns the earnings of a domain that are not paid out yet, in microdollars. */
export const unpaidEarnings = async (
  ledger: Ledger,
  { provider, soldAs }: Domain,
): Promise<bigint> => (soldAs === null ? 0n : ledger.balance(earningsOf(provider, soldAs, false)))

/** Locks all domains of a host, so that it is assigned to only one owner at a time. */
export async function lockHost(client: PoolClient, host: string): Promise<readonly Domain[]> {
  await client.query(`SELECT pg_advisory_xact_lock(hashtext($1))`, [`domain:${host}`])
  const { rows } = await client.query<Domain>(
    `SELECT ${DOMAIN_COLUMNS} FROM hub.domain WHERE host = $1 FOR UPDATE`,
    [host],
  )
  return rows
}
