import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { emit } from '../../webhooks/events.ts'

/** Page whose text is doubtful, as its owner was last notified. */
export interface DoubtfulPage {
  readonly url: string
  /** From 0 to 1. */
  readonly confidence: number
  readonly at: Date
}

const NOTICE_DAYS = 7

/** Notifies the owner of a page whose text is doubtful, unless notified of any in this week. */
export async function notifyLowConfidence(
  pool: Pool,
  { domain, url, confidence }: Omit<DoubtfulPage, 'at'> & { readonly domain: string },
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ owner: string; host: string }>(
      `UPDATE hub.domain SET doubtful_url = $2, doubtful_confidence = $3, doubtful_at = now()
       WHERE id = $1 AND (doubtful_at IS NULL
         OR doubtful_at < now() - interval '${NOTICE_DAYS} days') RETURNING owner, host`,
      [domain, url, confidence],
    )
    for (const { owner, host } of rows) {
      const data = { domain_id: domain, domain: host, url, confidence }
      await emit(client, owner, 'domain.low_confidence', data)
    }
  })
}

/** Returns the page of the last notice, if any. */
export async function findDoubtfulPage(
  pool: Pool,
  domain: string,
): Promise<DoubtfulPage | undefined> {
  const { rows } = await pool.query<DoubtfulPage>(
    `SELECT doubtful_url AS url, doubtful_confidence AS confidence, doubtful_at AS at
     FROM hub.domain WHERE id = $1 AND doubtful_at IS NOT NULL`,
    [domain],
  )
  return rows[0]
}
