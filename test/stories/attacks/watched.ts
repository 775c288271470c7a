import { defineService, s, usd } from 'agenthub/plugin'

/** What the work costs, if a test says nothing else. */
export const COST = usd('0.01')

interface Work {
  /** How often it came to its end. */
  done: number
  price: typeof COST
  /** Done first; may throw, or wait. */
  before: () => Promise<void>
  /** All that each call was given. */
  calls: object[]
}

/** The work of a provider, to be watched, held up and priced. */
export const work: Work = { done: 0, price: COST, before: async () => {}, calls: [] }

export const anew = (): Work =>
  Object.assign(work, { done: 0, price: COST, before: async () => {}, calls: [] })

/** Holds the work up until it is let go. */
export function gate(): { readonly reached: Promise<void>; readonly open: () => void } {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  work.before = () => {
    reached.resolve()
    return opened.promise
  }
  return { reached: reached.promise, open: () => opened.resolve() }
}

const endpoint = {
  summary: 'Works.',
  input: s.object({}),
  price: { max: usd('1'), of: () => ({ amount: work.price }) },
  handle: async (call: object) => {
    work.calls.push(call)
    await work.before()
    return { done: ++work.done }
  },
}

export const watched = defineService({
  slug: 'watched',
  name: 'Watched',
  category: 'test',
  summary: 'Counts how often it works.',
  provider: 'example',
  endpoints: { 'POST /a': endpoint, 'POST /b': endpoint },
})
