import type { ClientBase, Pool } from 'pg'
import { Fault } from '../errors.ts'
import { findGrant, type RoleGrant } from '../identity/roles.ts'

/** A held role and its use. */
export interface AccessLine {
  /** Null for a wallet of `HUB_ADMIN_WALLETS`. */
  readonly roleId: bigint | null
  readonly name: string
  readonly role: RoleGrant['role']
  readonly grantedBy: string | null
  readonly grantedAt: Date | null
  readonly effectiveAt: Date | null
  readonly confirmedBy: string | null
  /** Other identities of the same person, linked now or earlier. */
  readonly alsoKnownAs: readonly string[]
  /** Last line in the audit log. */
  readonly lastActAt: Date | null
  /** Last use of a session or key. */
  readonly lastSeenAt: Date | null
  readonly reviewedBy: string | null
  readonly reviewedAt: Date | null
}

/** `principal` of each holder, with the columns of its grant. */
const HOLDERS = `
  SELECT r.id AS "roleId", r.principal, r.role, r.granted_by AS "grantedBy",
    r.granted_at AS "grantedAt", r.effective_at AS "effectiveAt", r.confirmed_by AS "confirmedBy"
  FROM hub.role r WHERE r.revoked_at IS NULL
  UNION ALL SELECT NULL, p.id, 'admin', NULL, NULL, NULL, NULL
  FROM hub.principal p WHERE p.wallet_address = ANY ($1)`

const NAME_OF = `SELECT coalesce(e.email, p.wallet_address) FROM hub.principal p
  LEFT JOIN hub.person e ON e.principal = p.id WHERE p.id`

const LINES = `
  SELECT h."roleId", n.name, h.role, h."grantedBy", h."grantedAt", h."effectiveAt",
    h."confirmedBy", ARRAY(SELECT (${NAME_OF} = o.id) FROM unnest(m.ids) o(id)
      WHERE o.id <> h.principal ORDER BY 1) AS "alsoKnownAs",
    (SELECT max(a.at) FROM hub.audit a WHERE a.principal = ANY (m.ids)) AS "lastActAt",
    greatest((SELECT max(s.used_at) FROM hub.session s WHERE s.person = ANY (m.ids)),
      (SELECT max(k.used_at) FROM hub.api_key k WHERE k.principal = ANY (m.ids))) AS "lastSeenAt",
    v.name AS "reviewedBy", v.at AS "reviewedAt"
  FROM (${HOLDERS}) h
  CROSS JOIN LATERAL (SELECT hub.principals_of_person(h.principal) AS ids) m
  CROSS JOIN LATERAL (SELECT (${NAME_OF} = h.principal) AS name) n
  LEFT JOIN LATERAL (SELECT a.name, a.at FROM hub.audit a
    WHERE a.act = 'role.review' AND a.after ->> 'role_id' = h."roleId"::text
    ORDER BY a.seq DESC LIMIT 1) v ON true
  ORDER BY h.role, n.name`

/** Lists who holds which role, how it was granted, when it was used and when it was reviewed. */
export async function listAccess(
  pool: Pool,
  admins: readonly string[],
): Promise<readonly AccessLine[]> {
  const { rows } = await pool.query<AccessLine>(LINES, [admins])
  return rows
}

/**
 * Ids of acts whose two people turned out to be one: their identities were linked later. They are
 * for people to look into.
 */
export async function listSamePersonActs(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM hub.staff_act WHERE state = 'booked' AND decider IS NOT NULL
       AND hub.principals_of_person(decider) && person ORDER BY id DESC LIMIT 100`,
  )
  return rows.map(({ id }) => id)
}

/** Returns a held role for a review. @throws Fault `not_found` */
export async function findReviewable(client: ClientBase, id: bigint): Promise<RoleGrant> {
  const grant = await findGrant(client, id)
  if (!grant || grant.revokedAt !== null) {
    throw new Fault('not_found', 'This role is not granted, or was revoked.')
  }
  return grant
}
