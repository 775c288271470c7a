import {
  type Discovering,
  discoverAgents,
  discoverIndexes,
  discoverOrigins,
  discoverTransfers,
  probeListings,
  pruneProbes,
} from '../core/catalog/listings/discovery/discover.ts'

export interface DiscoveryPorts {
  /** Left out where no other sellers are looked for. */
  readonly discovery?: Discovering | undefined
}

const finding =
  (work: (ports: Discovering) => Promise<unknown>) =>
  async ({ discovery }: DiscoveryPorts, stopping: AbortSignal): Promise<unknown> =>
    discovery && work({ ...discovery, stopping })

/** How listings of others are found, and whether they are up. */
export const discoveryJobs = {
  'discover-indexes': { everySeconds: 60, deadlineSeconds: 900, run: finding(discoverIndexes) },
  'discover-origins': { everySeconds: 60, deadlineSeconds: 900, run: finding(discoverOrigins) },
  'discover-agents': { everySeconds: 30, run: finding(discoverAgents) },
  'discover-transfers': { everySeconds: 60, run: finding(discoverTransfers) },
  'probe-listings': { everySeconds: 10, run: finding(probeListings) },
  'prune-probes': { everySeconds: 86_400, run: finding(pruneProbes) },
} as const
