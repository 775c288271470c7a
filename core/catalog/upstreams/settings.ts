import type { SealingKey } from '../../crypto/sealing.ts'

/** Settings for imported APIs. */
export interface UpstreamSettings {
  /** True if an administrator must approve each service. */
  readonly approval: boolean
  /** Days before a higher price takes effect. */
  readonly noticeDays: number
  /** The first one encrypts secrets, all decrypt. If empty, a key derived from the signing key. */
  readonly sealingKeys: readonly SealingKey[]
}
