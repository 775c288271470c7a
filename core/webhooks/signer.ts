import { createHmac } from 'node:crypto'

/**
 * Secrets and signatures of webhooks, by the specification "Standard Webhooks". A secret follows
 * from the webhook, its version and a secret of the hub, so that no table holds one.
 */
export class WebhookSigner {
  readonly #secret: Buffer

  /** @param secret 32 bytes, of no other use */
  constructor(secret: Buffer) {
    this.#secret = secret
  }

  /** As its owner gets it: `whsec_` and 32 bytes in base64. */
  secretOf(webhook: string, version: number): string {
    return `whsec_${this.#bytesOf(webhook, version).toString('base64')}`
  }

  /**
   * The three headers of a delivery.
   * @param versions of the secrets that sign: two while a secret goes over into the next one
   * @param body exactly as it is sent
   */
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
