import { createHmac } from 'node:crypto'
import type { PurposeKeys } from '../secret-keys/purpose-keys.ts'

/** Version of a webhook's secret, and of the hub's key from which it derives. */
export interface SecretVersion {
  readonly version: number
  readonly keyVersion: number
}

/**
 * Derives webhook secrets and signs deliveries as specified by Standard Webhooks. A secret derives
 * from webhook id, version and a version of the hub's key, so that no table stores it.
 */
export class WebhookSigner {
  readonly #keys: PurposeKeys

  /** @param keys of 32 bytes, used for nothing else */
  constructor(keys: PurposeKeys) {
    this.#keys = keys
  }

  /** Version of the hub's key from which new secrets derive. */
  get keyVersion(): number {
    return this.#keys.current.version
  }

  /** Returns the secret as shown to its owner: `whsec_` and 32 bytes in base64. */
  async secretOf(webhook: string, version: SecretVersion): Promise<string> {
    return `whsec_${(await this.#bytesOf(webhook, version)).toString('base64')}`
  }

  /** Returns the headers of a delivery for secret `versions` and the `body` as sent. */
  async headersOf(
    webhook: string,
    versions: readonly SecretVersion[],
    event: string,
    now: Date,
    body: string,
  ): Promise<Record<string, string>> {
    const timestamp = String(BigInt(now.getTime()) / 1_000n)
    const content = `${event}.${timestamp}.${body}`
    const secrets = await Promise.all(versions.map((version) => this.#bytesOf(webhook, version)))
    const signatures = secrets.map(
      (secret) => `v1,${createHmac('sha256', secret).update(content).digest('base64')}`,
    )
    return {
      'webhook-id': event,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    }
  }

  async #bytesOf(webhook: string, { version, keyVersion }: SecretVersion): Promise<Buffer> {
    const { material } = await this.#keys.find(keyVersion)
    return createHmac('sha256', material).update(`${webhook}:${version}`).digest()
  }
}
