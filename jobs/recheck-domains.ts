import { recheckDomains } from '../core/catalog/domains/proof.ts'
import type { JobPorts } from './index.ts'

/** Looks whether owners still show their proofs; what has expired is no longer sold. */
export async function recheckAll(ports: JobPorts): Promise<void> {
  const { pool, egress, signingKey, catalog } = ports
  if (!egress) return
  const secret = signingKey.secretFor('listing-owner')
  const expired = await recheckDomains({ pool, egress, secret })
  for (const slug of expired) await catalog.refresh(slug)
}
