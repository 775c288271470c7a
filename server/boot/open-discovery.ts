import type { Pool } from 'pg'
import type { DiscoveryDeps } from '../../core/catalog/listings/discovery/discover.ts'
import { isOpened } from '../../core/catalog/listings/discovery/sources.ts'
import { Robots } from '../../core/catalog/listings/probe/robots.ts'
import { RANK } from '../../core/catalog/listings/store.ts'
import { originSource, submitOrigin } from '../../core/catalog/listings/submit.ts'
import type { Clock } from '../../core/clock.ts'
import type { Egress } from '../../core/egress/http.ts'
import type { Log } from '../../core/log.ts'
import type { HubOptions } from './options.ts'

export const openDiscovery = (
  { money, egress: rules, discovery: settings, clock, log }: HubOptions & { readonly clock: Clock },
  pool: Pool,
  egress: Egress,
): DiscoveryDeps => ({
  pool,
  egress,
  rules,
  robots: new Robots(egress, clock),
  settings,
  chainLogs: money.chainLogs,
  depth: money.finality,
  buysMetered: money.facilitator.approvePermit2 !== undefined,
  log,
})

/**
 * Lists the sample seller of a sandbox, so that searches find something. At later starts the job
 * that reads origins again keeps it up to date.
 */
export async function listSampleSeller(
  discovery: DiscoveryDeps,
  sellerUrl: string,
  log: Log,
): Promise<void> {
  const source = originSource(sellerUrl)
  if (await isOpened(discovery.pool, source)) return
  const namer = { source, rank: RANK.document }
  const { submitted } = await submitOrigin(discovery, sellerUrl, namer)
  const refused = submitted.filter(({ id }) => id === undefined)
  if (refused.length > 0 || submitted.length === 0)
    log.warn({ refused }, 'sample seller not listed')
}
