import { tokenOf, verifyDomain } from '../../core/catalog/domains/proof.ts'
import { readRules, writeRules } from '../../core/catalog/domains/rules.ts'
import { registerDomain } from '../../core/catalog/domains/store.ts'
import type { OwnershipPorts } from '../../core/catalog/listings/ownership.ts'
import type { Catalog } from '../../core/catalog/services/catalog.ts'
import { principalOf } from '../../core/identity/roots.ts'
import { usd } from '../../core/money.ts'
import type { PageRule } from '../../core/plugin/index.ts'
import { MAGAZINE_HOST, type Sandbox } from './start.ts'

const SOLD = {
  allow: true,
  maxAgeSeconds: 3_600,
  previewCharacters: 120,
  waitFor: null,
  exclude: ['aside'],
  fast: true,
} as const

const PRICES = { price: usd('0.005'), cachedPrice: usd('0.002') }
const RULES: readonly PageRule[] = [
  { ...SOLD, ...PRICES, pattern: '/articles/tides' }, // named, so that it is the example
  { ...SOLD, ...PRICES, pattern: '/articles/**' },
  { ...SOLD, pattern: '/members/**', allow: false, price: usd('0'), cachedPrice: usd('0') },
]

/**
 * Has the owner of the sample magazine sell its pages, the way every owner does: it is registered,
 * shows its proof, and is verified by it.
 */
export async function sellSamplePages(
  ports: Omit<OwnershipPorts, 'resolveTxt'> & { readonly catalog: Pick<Catalog, 'refresh'> },
  { wallets, magazine }: Sandbox,
): Promise<void> {
  const { pool, secret, catalog } = ports
  const wallet = wallets.seller.account.address.toLowerCase() as `0x${string}`
  const { id: owner } = await principalOf(pool, wallet)
  const domain = await registerDomain(pool, owner, {
    origin: `http://${MAGAZINE_HOST}`,
    name: 'The Sandbox Magazine',
    summary: 'A made-up magazine that sells its articles by the page: tides, bread, the night sky.',
    slug: 'magazine',
  })
  magazine?.show(tokenOf(secret, domain))
  if ((await readRules(pool, domain.id)).length === 0) await writeRules(pool, domain.id, RULES)
  if (domain.state === 'verified') return
  const resolveTxt = async () => [] // there is no name server for it
  const { slug } = await verifyDomain({ ...ports, resolveTxt }, [owner], domain.id)
  if (slug !== null) await catalog.refresh(slug)
}
