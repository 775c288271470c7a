import type { Pool, PoolClient } from 'pg'
import type { Mail } from '../../mail/queue.ts'
import { domainProofMail } from '../../mail/templates.ts'
import { emitToOwner, mailOwner } from '../../providers/notify-owner.ts'
import { proofExpiry } from './proof-times.ts'
import { DOMAIN_COLUMNS, type Domain } from './store.ts'

/** Notifies the owner that the proof is missing, or that the domain is no longer sold. */
export async function notifyMissingProof(client: PoolClient, domain: Domain): Promise<void> {
  const { id, host, owner, state } = domain
  const data = { domain_id: id, domain: host }
  const expiresAt = proofExpiry(domain)?.toISOString()
  await (state === 'expired'
    ? emitToOwner(client, owner, 'domain.expired', data)
    : emitToOwner(client, owner, 'domain.proof_missing', { ...data, expires_at: expiresAt }))
  await mailOwner(client, owner, 'domain-proof', id)
}

/** Composes the email about a missing proof; undefined if it was found again. */
export async function composeDomainProofMail(
  pool: Pool,
  recipient: string,
  id: string,
  baseUrl: string,
): Promise<Mail | undefined> {
  const { rows } = await pool.query<Domain>(
    `SELECT ${DOMAIN_COLUMNS} FROM hub.domain WHERE id = $1 AND noticed_at IS NOT NULL
       AND state IN ('verified', 'expired')`,
    [id],
  )
  const [domain] = rows
  return (
    domain &&
    domainProofMail(recipient, new URL(baseUrl).host, {
      domain: domain.host,
      expiresAt: proofExpiry(domain),
      page: `${baseUrl}/provider/domains/${id}`,
    })
  )
}
