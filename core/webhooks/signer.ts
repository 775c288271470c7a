import { createHmac } from 'node:crypto'

/**
 * Derives webhook secrets and signs deliveries as specified by Standard Webhooks. A secret derives
 * from webhook id, version and a hub secret, so that no table stores it.
 */
export class WebhookSigner {
  readonly #secret: Buffer

  /** @param secret 32 bytes, used for nothing else */
  constructor(secret: Buffer) {
    this.#secret = secret
  }

  /** Returns the secret as shown to its owner: `whsec_` and 32 bytes in base64. */
  secretOf(webhook: string, version: number): string {
    return `whsec_${this.#bytesOf(webhook, version).toString('base64')}`
  }

  /** Returns the headers of a delivery for secret `versions` and the `body` as sent. */
  headersOf(
    webhook: string,
    versions: readonly number[],
    event: string,
    now: Date,
    body: string,
  ): Record<string, string> {
    const timestamp = String(BigInt(now.getTime()) / 1_000n)
    const content = `${event}.${timestamp}.${body}`
    const signatures = versions.map((version) => {
      const hmac = createHmac('sha256', this.#bytesOf(webhook, version)).update(content)
      return `v1,${hmac.digest('base64')}`
    })
    return {
      'webhook-id': event,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    }
  }

  #bytesOf(webhook: string, version: number): Buffer {
    return createHmac('sha256', this.#secret).update(`${webhook}:${version}`).digest()
  }
}
