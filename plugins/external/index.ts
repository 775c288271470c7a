import { defineService, type ExternalRequest, type Host, s } from 'agenthub/plugin'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Calls third-party x402 APIs and charges their exact price to the caller's credits. */
export default ({ buyer }: Host) => {
  if (!buyer) throw new Error('no buyer was injected into the external plugin')
  return defineService({
    slug: 'external',
    name: 'External APIs',
    category: 'gateway',
    summary: 'Calls any API that asks for payment by x402, paid from your credits, at its price.',
    provider: 'agenthub',
    endpoints: {
      'POST /': {
        summary: 'Pays an external x402 seller its price and returns its response.',
        price: { max: buyer.maxAmount, of: (request: ExternalRequest) => buyer.quote(request) },
        input: s.object({
          url: s.string({
            minLength: 1,
            maxLength: 2_048,
            description: 'http or https.',
            examples: ['https://api.example.com/v1/forecast?city=Oslo'],
          }),
          method: s.optional(s.oneOf(METHODS, { description: 'Default GET.' })),
          headers: s.optional(s.record(s.string())),
          body: s.optional(s.unknown({ description: 'Text is sent as it is, else as JSON.' })),
          accept_pay_to: s.optional(
            s.string({
              minLength: 42,
              maxLength: 42,
              description: 'Payee address to accept although the seller had another one before.',
            }),
          ),
          max_price_microdollars: s.optional(
            s.integer({
              minimum: 1,
              maximum: Number.MAX_SAFE_INTEGER,
              description: 'Left out: what the seller is listed at, if it is.',
            }),
          ),
        }),
        deadlineSeconds: 90,
        streams: true,
        handle: (call) => buyer.pay(call),
      },
    },
  })
}
