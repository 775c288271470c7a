import type { Pool } from 'pg'
import type { PagePreviews } from '../../../../core/catalog/domains/previews.ts'
import type { OwnershipDeps } from '../../../../core/catalog/listings/ownership.ts'
import type { Catalog } from '../../../../core/catalog/services/catalog.ts'
import type { Clock } from '../../../../core/clock.ts'
import type { TargetRules } from '../../../../core/egress/target.ts'
import type { Ledger } from '../../../../core/ledger/ledger.ts'
import type { PurposeKeys } from '../../../../core/secret-keys/purpose-keys.ts'

export interface DomainDeps extends OwnershipDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly catalog: Pick<Catalog, 'refresh'>
  readonly previews: Pick<PagePreviews, 'preview'>
  readonly rules: TargetRules
  readonly clock: Clock
  readonly proxyUrl: () => string
  /** True if an administrator must approve the texts of each domain. */
  readonly approval: boolean
  /** Key of callers' pseudonyms. */
  readonly callerNames: PurposeKeys
}
