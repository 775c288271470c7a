import { defineService, s, usd } from 'agenthub/plugin'

export const PRICE = usd('0.001')

/** How often the service below worked, and what comes before its work. */
export const work = { done: 0, before: async () => {} }

/** A provider whose work is counted, and can be watched or made to fail. */
export const counted = defineService({
  slug: 'counted',
  name: 'Counted',
  category: 'test',
  summary: 'Counts how often it works.',
  provider: 'example',
  endpoints: {
    'POST /work': {
      summary: 'Works.',
      price: PRICE,
      input: s.object({ text: s.optional(s.string()) }),
      handle: async () => {
        await work.before()
        return { done: ++work.done }
      },
    },
  },
})
