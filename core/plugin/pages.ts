import type { Micros } from '../money.ts'

/** Terms of the pages whose paths match a pattern. */
export interface PageRule {
  /** Glob of the path: `*` matches within a segment, `**` across segments. */
  readonly pattern: string
  /** Hosts of the verified agents it is for; `*`: any of them. Empty: for everyone. */
  readonly agents: readonly string[]
  /** False if these pages are not sold to anyone. */
  readonly allow: boolean
  /** Price per page. */
  readonly price: Micros
  /** Price of a cached page; at most `price`. */
  readonly cachedPrice: Micros
  /** Maximum age of a cached page; 0: no caching. */
  readonly maxAgeSeconds: number
  /** Length of the free preview; 0: none. */
  readonly previewCharacters: number
  /** CSS selector that must match before the page is read. */
  readonly waitFor: string | null
  /** CSS selectors of elements to remove. */
  readonly exclude: readonly string[]
  /** True to read pages without a browser if that yields text. */
  readonly fast: boolean
}

export interface PricedPage {
  /** Canonical URL of the page. */
  readonly url: string
  readonly rule: PageRule
}

/** Reason why a page cannot be bought. */
export type PageRefusal =
  | 'malformed_url'
  | 'domain_not_registered'
  | 'page_not_for_sale'
  | 'page_denied'
