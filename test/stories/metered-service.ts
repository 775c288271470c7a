import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AnyService,
  type Call,
  defineService,
  Reply,
  s,
  unitPrice,
  usd,
} from 'agenthub/plugin'

/** Call as `GET /v1/calls` lists it. */
export interface ListedCall {
  readonly id: string
  readonly charged_microdollars: number
  readonly source: string
  readonly usage: { readonly quantity: number } | null
}

/** Act of the handler. */
export interface Step {
  readonly meter?: number
  readonly send?: string
  /** Sends so many bytes. */
  readonly bytes?: number
  readonly waitMs?: number
  readonly end?: 'fail' | 'hang' | 'exit' | 'other-unit' | 'overcharge'
}

export const MAX = usd('0.001')
/** 7 microdollars for 3 tokens: the maximum covers 428 tokens. */
export const RATE = { amount: 7n, per: 3n }
export const COVERED = 428n

const step = s.object({
  meter: s.optional(s.integer({ minimum: 0 })),
  send: s.optional(s.string()),
  bytes: s.optional(s.integer({ maximum: 2_000_000 })),
  waitMs: s.optional(s.integer({ maximum: 1_000 })),
  end: s.optional(s.oneOf(['fail', 'hang', 'exit', 'other-unit', 'overcharge'])),
})
const input = s.object({ steps: s.array(step, { maxItems: 2_000 }) })
type MeteredCall = Call<{ readonly steps: readonly Step[] }>

/** Service with metered prices, whose handlers do what the input says. */
export const metered = (slug: string, freeTokens?: number): AnyService =>
  defineService({
    slug,
    name: 'Metered',
    category: 'test',
    summary: 'Counts tokens.',
    provider: 'example',
    ...(freeTokens !== undefined && { freeUnitsPerMonth: { tokens: freeTokens } }),
    endpoints: {
      'POST /stream': {
        summary: 'Streams tokens.',
        price: { max: MAX, unit: 'tokens', of: unitPrice(usd('0.000007'), 3) },
        input,
        streams: true,
        deadlineSeconds: 2,
        handle: (call) =>
          new Reply(Readable.from(run(call)), { headers: { 'Content-Type': 'text/plain' } }),
      },
      'POST /whole': {
        summary: 'Returns tokens.',
        price: { max: MAX, unit: 'tokens', of: unitPrice(usd('0.000007'), 3) },
        input,
        output: s.object({ text: s.string() }),
        deadlineSeconds: 2,
        handle: async (call) => ({ text: (await Readable.from(run(call)).toArray()).join('') }),
      },
      'POST /fixed': {
        summary: 'Reports usage without a metered price.',
        price: usd('0.001'),
        input: s.object({}),
        handle: ({ meter }) => ({ isCovered: meter('tokens', 1) }),
      },
    },
  })

async function* run({ input: { steps }, meter, charge }: MeteredCall): AsyncGenerator<string> {
  for (const { meter: tokens, send, bytes, waitMs, end } of steps) {
    if (waitMs !== undefined) await sleep(waitMs)
    if (tokens !== undefined && !meter('tokens', tokens)) return
    if (end === 'fail') throw new Error('as told')
    if (end === 'exit') process.exit(1)
    if (end === 'hang') await new Promise(() => undefined)
    if (end === 'other-unit') meter('pages', 1)
    if (end === 'overcharge') charge(usd('1'))
    if (send !== undefined) yield send
    if (bytes !== undefined) yield 'x'.repeat(bytes)
  }
}
