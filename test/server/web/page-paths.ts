import type { TestHub } from '../../support/hub.ts'

/** One path per public page, with content. */
export async function pathsOf(hub: TestHub): Promise<readonly string[]> {
  const { rows } = await hub.database.admin.query<{ id: string }>(
    'SELECT id FROM hub.listing ORDER BY url LIMIT 1',
  )
  const { keyId } = await hub.agent()
  return [
    '/',
    '/services?q=sentiment',
    '/services?q=zzqqxx',
    '/services',
    '/compare?id=analysis&id=echo',
    '/compare?id=nothing',
    '/go?q=key',
    '/services/analysis',
    '/services/analysis/try',
    '/providers/agenthub',
    `/listings/${rows[0]?.id}`,
    '/status',
    '/topup',
    `/topup?key_id=${keyId}&amount_usd=5`,
    '/docs',
    '/docs/reference/provider',
    '/docs/agents',
    '/docs/providers',
    '/docs/finance',
    '/docs/operations',
    '/docs/webhooks',
    '/docs/problems',
    '/docs/search?q=payout',
    '/docs/problems/payment_required',
  ]
}
