import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { Fault } from '../../errors.ts'
import type { KeyManager } from '../../identity/sub-keys.ts'
import type { ReviewRules } from '../review/versions.ts'
import { missingDeclarations } from './completeness.ts'
import { findUpstream, type NewUpstream, type UpstreamChange, type UpstreamInfo } from './store.ts'
import { recordUpstreamVersion } from './versions.ts'

/**
 * Changes the description or base URL of a service, as a new version. Another origin has no secrets
 * yet: without approval by administrators the sale pauses if one is required.
 * @throws Fault `service_not_found`; `service_state` if it is retired
 */
export function changeUpstream(
  pool: Pool,
  manager: KeyManager,
  slug: string,
  change: UpstreamChange,
  rules: ReviewRules,
): Promise<UpstreamInfo> {
  return inTransaction(pool, async (client) => {
    const before = await findUpstream(client, manager, slug, true)
    if (before.state === 'retired') throw new Fault('service_state', 'The service is retired.')
    const after = { ...before, ...definedOnly(change) }
    const isMoved = new URL(before.baseUrl).origin !== new URL(after.baseUrl).origin
    await client.query(
      `UPDATE hub.upstream SET name = $2, category = $3, summary = $4, base_url = $5,
         free_calls_per_month = $6, request_headers = $7, response_headers = $8, health_path = $9,
         updated_at = now() WHERE slug = $1`,
      [
        slug,
        after.name,
        after.category,
        after.summary,
        after.baseUrl,
        after.freeCallsPerMonth,
        after.requestHeaders,
        after.responseHeaders,
        after.healthPath,
      ],
    )
    if (isMoved && before.state === 'active' && !rules.approval) await pauseIncomplete(client, slug)
    await recordUpstreamVersion(client, before, rules)
    return findUpstream(client, manager, slug)
  })
}

async function pauseIncomplete(client: PoolClient, slug: string): Promise<void> {
  if ((await missingDeclarations(client, slug)).length === 0) return
  await client.query(`UPDATE hub.upstream SET state = 'paused' WHERE slug = $1`, [slug])
}

const definedOnly = (change: object): Partial<NewUpstream> =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
