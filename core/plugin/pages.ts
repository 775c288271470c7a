import type { Micros } from '../money.ts'

/** How pages are sold whose paths match a pattern. */
export interface PageRule {
  /** A glob over the path: `*` within a segment, `**` over segments. */
  readonly pattern: string
  /** False: nobody gets these pages. */
  readonly allow: boolean
  /** Microdollars a page. */
  readonly price: Micros
  /** Microdollars of a page that was kept; at most the price. */
  readonly cachedPrice: Micros
  /** How old a page may be that is sold; 0: none is kept. */
  readonly maxAgeSeconds: number
  /** How much of the text everybody may see for nothing; 0: nothing. */
  readonly previewCharacters: number
  /** A CSS selector that a page has to have before it is read. */
  readonly waitFor: string | null
  /** CSS selectors of what is left out. */
  readonly exclude: readonly string[]
  /** Whether pages are read without a browser where that gives a text. */
  readonly fast: boolean
}

export interface PricedPage {
  /** The one spelling of the address that was asked for. */
  readonly url: string
  readonly rule: PageRule
}

/** Why a page cannot be bought. */
export type PageRefusal =
  | 'malformed_url'
  | 'domain_not_registered'
  | 'page_not_for_sale'
  | 'page_denied'
