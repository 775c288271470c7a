import type { SealingKey } from '../../crypto/sealing.ts'

/** How owners list APIs without code. */
export interface ListingSettings {
  /** Whether an administrator has to approve of each. */
  readonly approval: boolean
  /** Days before a higher price counts. */
  readonly noticeDays: number
  /** Encrypt secrets: the first one does, all of them decrypt. None: that of the signing key. */
  readonly sealingKeys: readonly SealingKey[]
}
