import { domainToken, verifyDomain } from '../../core/catalog/domains/proof.ts'
import { readRules, writeRules } from '../../core/catalog/domains/rules.ts'
import { registerDomain } from '../../core/catalog/domains/store.ts'
import type { OwnershipDeps } from '../../core/catalog/listings/ownership.ts'
import type { Catalog } from '../../core/catalog/services/catalog.ts'
import { Fault } from '../../core/errors.ts'
import { findOrCreatePrincipal } from '../../core/identity/main-keys.ts'
import { usd } from '../../core/money.ts'
import type { PageRule } from '../../core/plugin/index.ts'
import { MAGAZINE_HOST, type Sandbox } from './start.ts'

const RULE_DEFAULTS = {
  agents: [],
  allow: true,
  maxAgeSeconds: 3_600,
  previewCharacters: 120,
  waitFor: null,
  exclude: ['aside'],
  fast: true,
} as const

const PRICES = { price: usd('0.005'), cachedPrice: usd('0.002') }
const RULES: readonly PageRule[] = [
  { ...RULE_DEFAULTS, ...PRICES, pattern: '/articles/tides' }, // first: the example
  { ...RULE_DEFAULTS, ...PRICES, pattern: '/articles/**' },
  {
    ...RULE_DEFAULTS,
    pattern: '/members/**',
    allow: false,
    price: usd('0'),
    cachedPrice: usd('0'),
  },
]

/** Puts the sample magazine on sale as any owner would: registers, proves and verifies. */
export async function sellSamplePages(
  deps: Omit<OwnershipDeps, 'resolveTxt'> & { readonly catalog: Pick<Catalog, 'refresh'> },
  { wallets, magazine }: Sandbox,
): Promise<void> {
  const { pool, proofKeys, catalog } = deps
  const wallet = wallets.seller.account.address.toLowerCase() as `0x${string}`
  const { id: owner } = await findOrCreatePrincipal(pool, wallet)
  const texts = {
    origin: `http://${MAGAZINE_HOST}`,
    name: 'The Sandbox Magazine',
    summary: 'A made-up magazine that sells its articles by the page: tides, bread, the night sky.',
    slug: 'magazine',
    tokenVersion: proofKeys.current.version,
  }
  const rules = { approval: false, platformNames: [] }
  const domain = await registerDomain(pool, owner, texts, rules)
  magazine?.show(domainToken(proofKeys, domain))
  if ((await readRules(pool, domain.id)).length === 0) await writeRules(pool, domain.id, RULES)
  if (domain.state === 'verified') return
  const resolveTxt = async () => [] // the sandbox has no name server
  const verified = await verifyDomain({ ...deps, resolveTxt }, [owner], domain.id).catch(
    (error: unknown) => {
      // Another sandbox on this database has just tried: the next start tries again.
      if (error instanceof Fault && error.code === 'proof_too_soon') return undefined
      throw error
    },
  )
  if (verified?.slug != null) await catalog.refresh(verified.slug)
}
