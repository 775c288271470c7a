import { defineService, s, usd } from 'agenthub/plugin'

/** Price of `POST /works/do`. */
export const PRICE = usd('0.01')

/** Account of what the provider of `works` earned. */
export const EARNINGS = 'liabilities:providers:example:works'

/** Service of another provider, whose earnings tests refund or owe. */
export const works = defineService({
  slug: 'works',
  name: 'Works',
  category: 'test',
  summary: 'Works at one price.',
  provider: 'example',
  endpoints: {
    'POST /do': { summary: 'Works.', price: PRICE, input: s.object({}), handle: async () => ({}) },
  },
})
