import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { Manager } from '../../identity/children.ts'
import {
  findProof,
  type OwnershipPorts,
  type ProofMethod,
  proofToken,
} from '../listings/ownership.ts'
import { isReserved } from '../services/declaration.ts'
import { DOMAIN, type Domain, findDomain, lockHost } from './store.ts'

/** The family that domains belong to, and their category. */
const CONTENT = 'content'

/** A host is asked for its proof no more often than this, whoever wants it. */
const TRY_SECONDS = 5
/** A proof is looked for again after a day; one that is gone, each hour for three days. */
const CHECK_HOURS = 24
const AGAIN_HOURS = 1
const GRACE_DAYS = 3
const BATCH = 20

/** What the owner of a domain shows there. */
export const tokenOf = (secret: Buffer, { owner, host }: Pick<Domain, 'owner' | 'host'>): string =>
  proofToken(secret, owner, host)

/**
 * Looks for the proof of a domain. With it the owner holds the host, and whoever held it before
 * does not any more.
 * @throws Fault `domain_not_found`, `domain_not_proven`, `slug_taken`, `proof_too_soon`
 */
export async function verifyDomain(
  ports: OwnershipPorts,
  manager: Manager,
  id: string,
): Promise<Domain> {
  const { pool } = ports
  const domain = await findDomain(pool, manager, id)
  const { rowCount } = await pool.query(
    `UPDATE hub.domain SET tried_at = now() WHERE id = $1 AND NOT EXISTS (
       SELECT FROM hub.domain
       WHERE host = $2 AND tried_at > now() - make_interval(secs => ${TRY_SECONDS}))`,
    [id, domain.host],
  )
  if (rowCount !== 1) {
    throw new Fault('proof_too_soon', undefined, { headers: { 'Retry-After': `${TRY_SECONDS}` } })
  }
  const method = await findProof(ports, domain.origin, tokenOf(ports.secret, domain))
  if (!method) throw new Fault('domain_not_proven')
  return inTransaction(pool, (client) => hold(client, domain, method))
}

/** Gives a host to who has proven it, with the slug that the host has. */
async function hold(client: PoolClient, domain: Domain, method: ProofMethod): Promise<Domain> {
  const { id, host } = domain
  const others = (await lockHost(client, host)).filter((other) => other.id !== id)
  const before = others.find(({ slug }) => slug !== null)
  await client.query(
    `UPDATE hub.domain SET slug = NULL, next_check_at = NULL,
       state = CASE state WHEN 'deleted' THEN state ELSE 'transferred' END
     WHERE host = $1 AND id <> $2 AND slug IS NOT NULL`,
    [host, id],
  )
  const slug = domain.slug ?? before?.slug ?? (await newSlug(client, domain))
  const { rows } = await client.query<Domain>(
    `UPDATE hub.domain SET state = 'verified', slug = $2, sold_as = $2, method = $3,
       proven_at = now(), next_check_at = now() + interval '${CHECK_HOURS} hours'
     WHERE id = $1 AND state <> 'deleted' RETURNING ${DOMAIN}`,
    [id, slug, method],
  )
  if (!rows[0]) throw new Fault('domain_not_found')
  return rows[0]
}

/** A slug that is nobody's, taken at once. @throws Fault `slug_taken` */
async function newSlug(client: PoolClient, domain: Domain): Promise<string> {
  const { rows } = await client.query<{ wanted: string | null }>(
    'SELECT wanted FROM hub.domain WHERE id = $1',
    [domain.id],
  )
  const wanted = rows[0]?.wanted ?? null
  const tries = wanted === null ? slugsOf(domain.host) : [wanted]
  for (const slug of tries.filter((each) => !isReserved(each))) {
    const { rowCount } = await client.query(
      `INSERT INTO hub.service (slug, name, category, summary, provider, free_calls_per_month,
         state, family) VALUES ($1, $2, $3, $4, $5, 0, 'unlisted', $3) ON CONFLICT DO NOTHING`,
      [slug, domain.name, CONTENT, domain.summary, domain.provider],
    )
    if (rowCount === 1) return slug
  }
  throw new Fault('slug_taken', 'Register the domain again with another slug.')
}

const SLUG_MAX = 40

/** `www.example.com` → `example-com`, then with a number. */
function slugsOf(host: string): readonly string[] {
  const plain = host.replace(/^www\./, '').replaceAll('.', '-')
  const numbered = Array.from({ length: 50 }, (_, n) => (n === 0 ? '' : `-${n + 1}`))
  return numbered.map((end) => `${plain.slice(0, SLUG_MAX - end.length).replace(/-+$/, '')}${end}`)
}

/**
 * Looks again for proofs that are due. One that was not seen for three days has expired: its pages
 * are not sold until it is verified again.
 * @returns slugs of what is sold no more
 */
export async function recheckDomains(ports: OwnershipPorts): Promise<readonly string[]> {
  const { rows } = await ports.pool.query<Domain>(
    `UPDATE hub.domain SET tried_at = now(),
       next_check_at = now() + interval '${AGAIN_HOURS} hours'
     WHERE id IN (SELECT id FROM hub.domain WHERE next_check_at <= now()
       ORDER BY next_check_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
     RETURNING ${DOMAIN}`,
  )
  const ended = await Promise.all(rows.map((domain) => recheck(ports, domain)))
  return ended.filter((slug) => slug !== undefined)
}

async function recheck(ports: OwnershipPorts, domain: Domain): Promise<string | undefined> {
  const method = await findProof(ports, domain.origin, tokenOf(ports.secret, domain))
  const { rows } = await note(ports.pool, domain.id, method)
  return rows[0]?.state === 'expired' && domain.slug !== null ? domain.slug : undefined
}

const note = (pool: Pool, id: string, method: ProofMethod | undefined) =>
  method
    ? pool.query<{ state: string }>(
        `UPDATE hub.domain SET method = $2, proven_at = now(),
           next_check_at = now() + interval '${CHECK_HOURS} hours'
         WHERE id = $1 AND state = 'verified' RETURNING state`,
        [id, method],
      )
    : pool.query<{ state: string }>(
        `UPDATE hub.domain SET state = 'expired', next_check_at = NULL
         WHERE id = $1 AND state = 'verified' AND proven_at < now() - interval '${GRACE_DAYS} days'
         RETURNING state`,
        [id],
      )
