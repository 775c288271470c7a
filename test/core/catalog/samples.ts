import type { Sample } from '../../bench/search/relevance.ts'

/** A listing that is nothing but its name and its words. */
export const sampleOf = (id: string, words: string): Sample => ({
  id,
  name: id,
  category: 'data',
  price: 100,
  tags: ['thing'],
  summary: words,
  endpoints: 'GET /things Things',
})
