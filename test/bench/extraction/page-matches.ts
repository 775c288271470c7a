import type { Match } from './metric.ts'

/** Names of variants, or of one extractor to compare with. */
export type Configuration = readonly string[]

/** Matches of the page at an index of its kind, one for each configuration. */
export interface PageMatches {
  readonly kind: string
  readonly at: number
  readonly matches: readonly Match[]
}

/** Returns a key of a page among those of all kinds. */
export const keyOf = ({ kind, at }: Pick<PageMatches, 'kind' | 'at'>): string => `${kind} ${at}`
