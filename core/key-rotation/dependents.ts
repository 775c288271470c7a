import type { ClientBase, Pool } from 'pg'
import type { Purpose } from '../secret-keys/purposes.ts'

/** Things that stop working if a version is retired, and how they stop depending on it. */
export interface Dependents {
  readonly count: bigint
  /** Plural noun with the way out; undefined for purposes that nothing depends on. */
  readonly advice: string | undefined
}

interface Rule {
  /** Counts with $1 = version, or the key id if `by` says so. */
  readonly sql: string
  /** @defaultValue version */
  readonly by?: 'keyId'
  readonly advice: string
}

/** Days after which an unproven domain no longer counts. */
const PENDING_DAYS = 30

const RULES: Partial<Readonly<Record<Purpose, Rule>>> = {
  webhooks: {
    sql: `SELECT count(*) FROM hub.webhook WHERE key_version = $1
      OR previous_key_version = $1 AND previous_until > now()`,
    advice:
      'webhooks still have a secret of it: their owners replace it with ' +
      'POST /v1/webhooks/{id}/rotate, or at /account/webhooks; both secrets sign meanwhile',
  },
  'domain-proofs': {
    sql: `SELECT count(*) FROM hub.domain WHERE token_version = $1
      AND (state IN ('verified', 'expired')
        OR state = 'pending' AND created_at > now() - interval '${PENDING_DAYS} days')`,
    advice: 'domains still publish a token of it: their owners publish the one shown to them now',
  },
  'sign-in-links': {
    sql: `SELECT count(*) FROM hub.magic_link WHERE key_version = $1
      AND used_at IS NULL AND expires_at > now()`,
    advice: 'sign-in links of it are open: they expire within 15 minutes',
  },
  'stored-responses': {
    sql: `SELECT count(*) FROM hub.kept_answer WHERE key_version = $1
      AND expires_at > now()`,
    advice: 'stored responses could not be encrypted anew: they expire within 24 hours',
  },
  'upstream-credentials': {
    sql: 'SELECT count(*) FROM hub.upstream_secret WHERE key_id = $1',
    by: 'keyId',
    advice: 'upstream credentials could not be encrypted anew: their owners must enter them again',
  },
}

/** Counts what depends on a version. */
export async function countDependents(
  pool: Pool | ClientBase,
  purpose: Purpose,
  key: { readonly version: number; readonly keyId: string },
): Promise<Dependents> {
  const rule = RULES[purpose]
  if (!rule) return { count: 0n, advice: undefined }
  const { sql, by = 'version', advice } = rule
  const { rows } = await pool.query<{ count: bigint }>(sql, [key[by]])
  return { count: rows[0]!.count, advice }
}
