import type { CatalogEntry } from '../../../core/catalog/services/catalog.ts'

/** Descriptions of the platform's tags. The tag of a service is its slug. */
const PLATFORM_TAGS: Readonly<Record<string, string>> = {
  account: 'Email account of a person: sign-in, linked wallets, incident emails.',
  admin: 'Services, keys, providers, roles and the audit log, for administrators.',
  billing: 'Legal name and address for documents.',
  calls: 'Records of calls, with charge, receipt and proof.',
  credits: 'Purchase, balance and movements of credits.',
  documents: 'Receipts, statements and credit notes.',
  domains: 'Domains whose owners sell pages, and their rules.',
  external: 'Listings of external x402 APIs.',
  finance: 'Accounts, payments, adjustments and exports, for finance staff.',
  hub: 'Health, documents of the API, and proofs.',
  keys: 'API keys and sub-keys with limits.',
  ledger: 'Signed checkpoints of the ledger.',
  listings: 'Claims, opt-outs and submissions of external listings.',
  mcp: 'Model Context Protocol.',
  provider: 'Services, earnings and payouts of providers.',
  quotes: 'Prices that are guaranteed for five minutes.',
  'rate-requests': 'Requests for higher rate limits, and their decisions.',
  receipts: 'Verification of signed receipts.',
  register: 'Registration of a wallet, which returns an API key.',
  sandbox: 'Test money, in a sandbox only.',
  search: 'Search over services and listings.',
  services: 'Native services, with endpoints and prices.',
  sessions: 'Signed-in browsers of a person.',
  topups: 'Purchase of credits for a key by anyone.',
  wallet: 'Spending of a key by day and service.',
  webhooks: 'Notifications of events, and their deliveries.',
}

type Paths = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Tag of a path: `credits` for `/v1/credits/balance`, `hub` for paths outside `/v1`. */
export const tagOf = (path: string): string => /^\/v1\/([\w-]+)/.exec(path)?.[1] ?? 'hub'

/** Lists the tags of all operations with their descriptions. */
export function tagsOf(paths: Paths, shown: readonly CatalogEntry[]): readonly object[] {
  const summaries = new Map(shown.map(({ service }) => [service.slug, service.summary]))
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const names = operations.flatMap((one) => (one as { readonly tags: readonly string[] }).tags)
  return [...new Set(names)].toSorted().map((name) => ({
    name,
    description: PLATFORM_TAGS[name] ?? summaries.get(name) ?? name,
  }))
}
