import type { SealingKey } from '../../../core/crypto/sealing.ts'
import type { SigningKey } from '../../../core/crypto/signing-key.ts'

/** Keys of the configuration. Loaded on first use: a sandbox stores its key in a file. */
export interface KeysDeps {
  /** Keys in `HUB_SIGNING_KEY`, the current one first. */
  readonly signingKeys: () => Promise<readonly [SigningKey, ...SigningKey[]]>
  /** Keys in `HUB_ENCRYPTION_KEYS`. */
  readonly sealingKeys: readonly SealingKey[]
}
