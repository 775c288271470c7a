import type { Pool } from 'pg'
import type { ReviewRules } from '../../../../core/catalog/review/versions.ts'
import type { Catalog } from '../../../../core/catalog/services/catalog.ts'
import type { UpstreamSettings } from '../../../../core/catalog/upstreams/settings.ts'
import type { Clock } from '../../../../core/clock.ts'
import type { SealingKeys } from '../../../../core/crypto/sealing.ts'
import type { Egress } from '../../../../core/egress/http.ts'
import type { TargetRules } from '../../../../core/egress/target.ts'
import type { Log } from '../../../../core/log.ts'
import { reviewRules } from '../../review-view.ts'

export interface ServiceDeps {
  readonly pool: Pool
  readonly catalog: Pick<Catalog, 'refresh' | 'preview'>
  readonly listing: UpstreamSettings
  readonly keys: SealingKeys
  /** Rules for base URLs; `localOrigins` are allowed in addition. */
  readonly rules: TargetRules
  readonly localOrigins: readonly string[]
  /** HTTP client for public addresses. */
  readonly egress: Pick<Egress, 'request'>
  /** HTTP client for local origins. */
  readonly backends: Pick<Egress, 'request'>
  readonly clock: Clock
  readonly log: Log
  readonly proxyUrl: () => string
}

/** Rules by which new versions are reviewed. */
export const serviceReviewRules = ({ listing, proxyUrl }: ServiceDeps): ReviewRules =>
  reviewRules({ approval: listing.approval, proxyUrl })
