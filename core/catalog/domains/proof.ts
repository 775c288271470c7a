import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import type { PurposeKeys } from '../../secret-keys/purpose-keys.ts'
import {
  type FoundProof,
  findProof,
  type MissingProof,
  PROOF_PLACES,
} from '../listings/find-proof.ts'
import { type OwnershipDeps, proofTokens } from '../listings/ownership.ts'
import { isReserved } from '../services/declaration.ts'
import { notifyMissingProof } from './proof-notice.ts'
import { ACT_HOURS, EXPIRY_HOURS, NOTICE_HOURS, RECHECK_HOURS, RETRY_HOURS } from './proof-times.ts'
import { DOMAIN_COLUMNS, type Domain, findDomain, lockHost } from './store.ts'

/** Family and category of services that sell a domain's pages. */
const CONTENT = 'content'

/** Minimum interval between checks of one host, over all principals. */
const ATTEMPT_INTERVAL_SECONDS = 5
const BATCH = 20

/** Returns the token that a domain's owner publishes. */
export const domainToken = (
  keys: PurposeKeys,
  { owner, host }: Pick<Domain, 'owner' | 'host'>,
): string => proofTokens(keys, owner, host)[0].token

/**
 * Looks for the ownership proof of a domain. If it is found, the host is assigned to this owner and
 * taken from the previous one.
 * @throws Fault `domain_not_found`, `domain_not_proven`, `slug_taken`, `proof_too_soon`
 */
export async function verifyDomain(
  deps: OwnershipDeps,
  manager: KeyManager,
  id: string,
): Promise<Domain> {
  const { pool } = deps
  const domain = await findDomain(pool, manager, id)
  const { rowCount } = await pool.query(
    `UPDATE hub.domain SET tried_at = now() WHERE id = $1 AND NOT EXISTS (
       SELECT FROM hub.domain
       WHERE host = $2 AND tried_at > now() - make_interval(secs => ${ATTEMPT_INTERVAL_SECONDS}))`,
    [id, domain.host],
  )
  if (rowCount !== 1) {
    throw new Fault('proof_too_soon', undefined, {
      headers: { 'Retry-After': `${ATTEMPT_INTERVAL_SECONDS}` },
    })
  }
  const search = await findProof(deps, domain.origin, tokensOf(deps, domain))
  const { proof } = search
  if (!proof) throw notProven(search.missing)
  return inTransaction(pool, (client) => assignHost(client, domain, proof))
}

/** Says what the hub saw in each place. */
function notProven(missing: readonly MissingProof[]): Fault {
  const seen = missing.map(({ method, problem }) => `${PROOF_PLACES[method]}: ${problem}`)
  const detail = `The token was not found. ${seen.join(' ')}`
  return new Fault('domain_not_proven', detail, { extras: { missing } })
}

/** Assigns a host, with its slug, to the owner who has proven it. */
async function assignHost(
  client: PoolClient,
  domain: Domain,
  { method, version }: FoundProof,
): Promise<Domain> {
  const { id, host } = domain
  const others = (await lockHost(client, host)).filter((other) => other.id !== id)
  const previous = others.find(({ slug }) => slug !== null)
  await client.query(
    `UPDATE hub.domain SET slug = NULL, next_check_at = NULL,
       state = CASE state WHEN 'deleted' THEN state ELSE 'transferred' END
     WHERE host = $1 AND id <> $2 AND slug IS NOT NULL`,
    [host, id],
  )
  const slug = domain.slug ?? previous?.slug ?? (await claimSlug(client, domain))
  const { rows } = await client.query<Domain>(
    `UPDATE hub.domain SET state = 'verified', slug = $2, sold_as = $2, method = $3,
       token_version = $4, proven_at = now(), noticed_at = NULL,
       next_check_at = now() + interval '${RECHECK_HOURS} hours'
     WHERE id = $1 AND state <> 'deleted' RETURNING ${DOMAIN_COLUMNS}`,
    [id, slug, method, version],
  )
  if (!rows[0]) throw new Fault('domain_not_found')
  return rows[0]
}

/** Reserves a free slug. @throws Fault `slug_taken` */
async function claimSlug(client: PoolClient, domain: Domain): Promise<string> {
  const { rows } = await client.query<{ wanted: string | null }>(
    'SELECT wanted FROM hub.domain WHERE id = $1',
    [domain.id],
  )
  const requested = rows[0]?.wanted ?? null
  const candidates = requested === null ? slugCandidates(domain.host) : [requested]
  for (const slug of candidates.filter((each) => !isReserved(each))) {
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

/** `www.example.com` → `example-com`, `example-com-2`, … */
function slugCandidates(host: string): readonly string[] {
  const plain = host.replace(/^www\./, '').replaceAll('.', '-')
  const numbered = Array.from({ length: 50 }, (_, n) => (n === 0 ? '' : `-${n + 1}`))
  return numbered.map(
    (end) => `${plain.slice(0, SLUG_MAX - end.length).replace(/(?<!-)-+$/, '')}${end}`,
  )
}

/**
 * Rechecks the proofs that are due. Notifies the owner of a missing one, which expires three days
 * after it was last seen; the pages are then not sold until the domain is verified again.
 * @returns slugs that are no longer sold
 */
export async function recheckDomains(deps: OwnershipDeps): Promise<readonly string[]> {
  const { rows } = await deps.pool.query<Domain>(
    `UPDATE hub.domain SET tried_at = now(),
       next_check_at = now() + interval '${RETRY_HOURS} hours'
     WHERE id IN (SELECT id FROM hub.domain WHERE next_check_at <= now()
       ORDER BY next_check_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
     RETURNING ${DOMAIN_COLUMNS}`,
  )
  const expired = await Promise.all(rows.map((domain) => recheck(deps, domain)))
  return expired.filter((slug) => slug !== undefined)
}

async function recheck(deps: OwnershipDeps, domain: Domain): Promise<string | undefined> {
  const { proof } = await findProof(deps, domain.origin, tokensOf(deps, domain))
  if (proof) await recordProof(deps.pool, domain.id, proof)
  else if ((await recordMissing(deps.pool, domain.id)) === 'expired')
    return domain.slug ?? undefined
  return undefined
}

const tokensOf = ({ proofKeys }: OwnershipDeps, { owner, host }: Domain) =>
  proofTokens(proofKeys, owner, host)

const recordProof = (pool: Pool, id: string, { method, version }: FoundProof) =>
  pool.query(
    `UPDATE hub.domain SET method = $2, token_version = $3, proven_at = now(), noticed_at = NULL,
       next_check_at = now() + interval '${RECHECK_HOURS} hours'
     WHERE id = $1 AND state = 'verified'`,
    [id, method, version],
  )

/** Notifies the owner once in time, and again when the proof expires. */
const recordMissing = (pool: Pool, id: string): Promise<Domain['state'] | undefined> =>
  inTransaction(pool, async (client) => {
    const { rows } = await client.query<Domain>(
      `UPDATE hub.domain SET noticed_at = coalesce(noticed_at, now()),
         state = CASE WHEN noticed_at IS NULL THEN state ELSE 'expired' END,
         next_check_at = CASE WHEN noticed_at IS NULL THEN next_check_at END
       WHERE id = $1 AND state = 'verified' AND CASE WHEN noticed_at IS NULL
         THEN proven_at < now() - interval '${NOTICE_HOURS} hours'
         ELSE proven_at < now() - interval '${EXPIRY_HOURS} hours'
           AND noticed_at < now() - interval '${ACT_HOURS} hours' END
       RETURNING ${DOMAIN_COLUMNS}`,
      [id],
    )
    if (rows[0]) await notifyMissingProof(client, rows[0])
    return rows[0]?.state
  })
