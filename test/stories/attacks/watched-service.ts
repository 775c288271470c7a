import { defineService, s, usd } from 'agenthub/plugin'

/** Default price of the work. */
export const COST = usd('0.01')

interface WatchedWork {
  /** Number of completed calls. */
  done: number
  price: typeof COST
  /** Runs first; may throw or wait. */
  before: () => Promise<void>
  /** Argument of each call. */
  calls: object[]
}

/** State of the provider's work, which tests observe, block and price. */
export const work: WatchedWork = { done: 0, price: COST, before: async () => {}, calls: [] }

export const resetWork = (): WatchedWork =>
  Object.assign(work, { done: 0, price: COST, before: async () => {}, calls: [] })

/** Blocks the work until `open` is called. */
export function blockWork(): { readonly reached: Promise<void>; readonly open: () => void } {
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
  price: { max: usd('5'), of: () => ({ amount: work.price }) },
  handle: async (call: object) => {
    work.calls.push(call)
    await work.before()
    return { done: ++work.done }
  },
}

const thing = { ...endpoint, input: s.object({ name: s.string() }) }

export const watchedService = defineService({
  slug: 'watched',
  name: 'Watched',
  category: 'test',
  summary: 'Counts how often it works.',
  provider: 'example',
  endpoints: { 'POST /a': endpoint, 'POST /b': endpoint, 'POST /things/{name}': thing },
})
