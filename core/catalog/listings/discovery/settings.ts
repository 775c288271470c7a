import type { IndexSource } from './read-index.ts'
import { KNOWN_FACILITATORS } from './read-transfers.ts'

/** Where listings of others are looked for. */
export interface DiscoverySettings {
  readonly indexes: readonly IndexSource[]
  /** Content ids of IPFS are put behind it. */
  readonly ipfsGateway: string
  /** Addresses that settle payments of x402, in lower case. */
  readonly facilitators: readonly string[]
  /** From where a new installation reads the registry of agents. */
  readonly registryFromBlock: bigint
}

/** Public indexes of x402, read where HUB_INDEXES says nothing else. */
const KNOWN_INDEXES: readonly IndexSource[] = [
  { name: 'cdp', url: 'https://api.cdp.coinbase.com/platform/v2/x402/discovery/resources' },
  { name: 'payai', url: 'https://facilitator.payai.network/discovery/resources' },
]

/**
 * An estimate on the safe side: Base was there in December 2025, and the registry came to it after
 * that. What lies before is empty and costs a few hundred questions, once.
 */
const REGISTRY_FROM_BLOCK = 40_000_000n

const ENTRY = /^([a-z][a-z0-9-]{0,30})=(https?:\/\/\S{1,500})$/

/**
 * Reads `HUB_INDEXES`: `name=url,name=url`; `none` for none.
 * @throws TypeError for anything that is not of the form, or a name that stands there twice
 */
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

/** What is configured, and the rest by where the hub runs: a sandbox looks nowhere by itself. */
export function discoverySettings(
  told: {
    readonly indexes: string | undefined
    readonly ipfsGateway: string
    readonly facilitators: readonly string[] | undefined
    readonly registryFromBlock: bigint | undefined
  },
  isProduction: boolean,
): DiscoverySettings {
  const fallback = isProduction ? KNOWN_INDEXES : []
  return {
    indexes: told.indexes === undefined ? fallback : parseIndexes(told.indexes),
    ipfsGateway: told.ipfsGateway.endsWith('/') ? told.ipfsGateway : `${told.ipfsGateway}/`,
    facilitators: [...KNOWN_FACILITATORS, ...(told.facilitators ?? [])],
    registryFromBlock: told.registryFromBlock ?? (isProduction ? REGISTRY_FROM_BLOCK : 0n),
  }
}
