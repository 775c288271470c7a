import type { IndexSource } from './read-index.ts'
import { KNOWN_FACILITATORS } from './read-transfers.ts'

/** Sources of external listings. */
export interface DiscoverySettings {
  readonly indexes: readonly IndexSource[]
  /** URL to which IPFS content ids are appended. */
  readonly ipfsGateway: string
  /** Addresses that settle x402 payments, in lower case. */
  readonly facilitators: readonly string[]
  /** First block of the agent registry that a new installation reads. */
  readonly registryFromBlock: bigint
}

/** Public x402 indexes, read unless HUB_INDEXES names others. */
const KNOWN_INDEXES: readonly IndexSource[] = [
  { name: 'cdp', url: 'https://api.cdp.coinbase.com/platform/v2/x402/discovery/resources' },
  { name: 'payai', url: 'https://facilitator.payai.network/discovery/resources' },
]

/** A safe estimate: Base was here in December 2025, before the registry was deployed. */
const REGISTRY_FROM_BLOCK = 40_000_000n

const ENTRY = /^([a-z][a-z0-9-]{0,30})=(https?:\/\/\S{1,500})$/

/** Reads `HUB_INDEXES`: `name=url,name=url` or `none`. @throws TypeError */
function parseIndexes(text: string): readonly IndexSource[] {
  if (text.trim() === 'none') return []
  const sources = text.split(',').map((part) => {
    const [, name = '', url = ''] = ENTRY.exec(part.trim()) ?? []
    if (!URL.canParse(url)) throw new TypeError(`not of the form name=https://…: ${part.trim()}`)
    return { name, url }
  })
  const names = new Set(sources.map(({ name }) => name))
  if (names.size < sources.length) throw new TypeError('two indexes have the same name')
  return sources
}

/** Completes the configuration with defaults; a sandbox reads no index by default. */
export function discoverySettings(
  configured: {
    readonly indexes: string | undefined
    readonly ipfsGateway: string
    readonly facilitators: readonly string[] | undefined
    readonly registryFromBlock: bigint | undefined
  },
  isProduction: boolean,
): DiscoverySettings {
  const { indexes, ipfsGateway, facilitators, registryFromBlock } = configured
  const fallback = isProduction ? KNOWN_INDEXES : []
  return {
    indexes: indexes === undefined ? fallback : parseIndexes(indexes),
    ipfsGateway: ipfsGateway.endsWith('/') ? ipfsGateway : `${ipfsGateway}/`,
    facilitators: [...KNOWN_FACILITATORS, ...(facilitators ?? [])],
    registryFromBlock: registryFromBlock ?? (isProduction ? REGISTRY_FROM_BLOCK : 0n),
  }
}
