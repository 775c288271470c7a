import { defineService, s, usd } from 'agenthub/plugin'

export const PRICE = usd('0.001')

interface Work {
  /** Number of completed calls. */
  done: number
  /** Runs first; may throw or wait. */
  before: () => Promise<void>
  /** Response to return instead of the count. */
  answer?: (() => unknown) | undefined
}

/** State of the service's work, which tests observe and block. Shared: call `resetWork` first. */
export const work: Work = { done: 0, before: async () => {} }

export const resetWork = (): Work =>
  Object.assign(work, { done: 0, before: async () => {}, answer: undefined })

/** Service that counts its calls and can be blocked or made to fail. */
export const countingService = defineService({
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
        const count = { done: ++work.done }
        return work.answer ? work.answer() : count
      },
    },
  },
})
