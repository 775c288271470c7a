import { Readable } from 'node:stream'
import { defineService, micros, Reply, s, usd } from '../../../core/plugin/index.ts'

/** Current price in microdollars, number of calls, and a hook that runs during each call. */
export const market = { price: 1_000n, runs: 0, during: async () => {} }

/** Service whose price changes between calls. */
export const variablePriceService = defineService({
  slug: 'moving',
  name: 'Moving',
  category: 'test',
  summary: 'Has a price that moves.',
  provider: 'example',
  endpoints: {
    'POST /work': {
      summary: 'Works.',
      price: { max: usd('0.01'), of: () => ({ amount: micros(market.price) }) },
      input: s.object({ n: s.integer() }),
      handle: async ({ input }) => {
        market.runs++
        await market.during()
        return { n: input.n }
      },
    },
    'GET /work': {
      summary: 'Works on a query.',
      price: { max: usd('0.01'), of: () => ({ amount: micros(market.price) }) },
      input: s.object({ n: s.integer() }),
      handle: ({ input }) => ({ n: input.n }),
    },
    'POST /stream': {
      summary: 'Answers piece by piece.',
      price: usd('0.001'),
      streams: true,
      input: s.object({}),
      handle: () =>
        new Reply(Readable.from([Buffer.from('data: 1\n\n'), Buffer.from('data: 2\n\n')])),
    },
    'POST /fails': {
      summary: 'Fails.',
      price: usd('0.001'),
      input: s.object({}),
      handle: () => {
        throw new Error('broken')
      },
    },
    'POST /missing': {
      summary: 'Finds nothing.',
      price: usd('0.001'),
      input: s.object({}),
      handle: () => new Reply({ found: false }, { status: 404 }),
    },
  },
})
