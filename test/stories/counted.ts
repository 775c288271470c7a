import { defineService, s, usd } from 'agenthub/plugin'

export const PRICE = usd('0.001')

interface Work {
  /** How often it came to its end. */
  done: number
  /** Done first; may throw, or wait. */
  before: () => Promise<void>
  /** What it answers instead of its count. */
  answer?: (() => unknown) | undefined
}

/** The work of the service below, to be watched and held up. Test files share it: begin `anew`. */
export const work: Work = { done: 0, before: async () => {} }

export const anew = (): Work =>
  Object.assign(work, { done: 0, before: async () => {}, answer: undefined })

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
        const count = { done: ++work.done }
        return work.answer ? work.answer() : count
      },
    },
  },
})
