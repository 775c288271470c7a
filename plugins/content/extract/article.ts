import type { Kind } from './kind.ts'

/** The article of a page, without its surroundings. */
export interface Article {
  /** URL that was requested. */
  readonly url: string
  /** Canonical URL that the page declares, on any host; otherwise its own. */
  readonly canonical_url: string
  readonly kind: Kind
  /**
   * Agreement with a simple second reading, from 0 to 1: from 0.95 on the text is nearly always
   * whole and without surroundings. Null for documents without markup.
   */
  readonly confidence: number | null
  /** Fields that a product or recipe declares of itself. */
  readonly data: ProductData | RecipeData | null
  readonly title: string
  readonly byline: string | null
  /** ISO 8601, with an offset if the page has one, otherwise a date or local time. */
  readonly published_at: string | null
  readonly modified_at: string | null
  /** BCP 47 language tag, as declared by the page. */
  readonly lang: string | null
  readonly description: string | null
  /** Plain text in reading order; blocks are a blank line apart, list items and rows one line. */
  readonly text: string
  /** Headings of the article, in order. `id` is the page's own, or made from the words. */
  readonly headings: readonly Heading[]
  /** The article in GitHub Flavored Markdown, links and images absolute. */
  readonly markdown: string
  /** Links and images of the article, absolute, http and https only, each once. */
  readonly links: readonly Link[]
  readonly images: readonly Image[]
  /** Number of words in `text` by Unicode rules, which also segment CJK. */
  readonly word_count: number
  /** Media type that was read, without parameters, such as `text/html`. */
  readonly content_type: string
}

/** A product as its page declares it (schema.org Product). Prices are as written, not converted. */
export interface ProductData {
  readonly type: 'product'
  readonly name: string | null
  readonly description: string | null
  readonly brand: string | null
  readonly sku: string | null
  readonly gtin: string | null
  readonly offers: readonly {
    readonly price: string
    readonly currency: string | null
    /** Last part of schema.org's ItemAvailability, such as `InStock`. */
    readonly availability: string | null
  }[]
}

/** A recipe as its page declares it (schema.org Recipe). Times are ISO 8601 durations. */
export interface RecipeData {
  readonly type: 'recipe'
  readonly name: string | null
  readonly yield: string | null
  readonly prep_time: string | null
  readonly cook_time: string | null
  readonly total_time: string | null
  readonly ingredients: readonly string[]
  readonly steps: readonly string[]
}

export interface Heading {
  readonly level: number
  readonly text: string
  readonly id: string
}

export interface Link {
  readonly href: string
  readonly text: string
}

export interface Image {
  readonly src: string
  readonly alt: string
}

/** A document as received: bytes and their declared type. */
export interface Document {
  readonly body: Uint8Array
  /** The whole Content-Type header. */
  readonly contentType: string | undefined
  readonly url: string
}

export interface ExtractOptions {
  /** CSS selectors of elements that the owner excludes. */
  readonly exclude?: readonly string[]
  /** True if scripts have not run: a page that they have yet to fill counts as empty. */
  readonly beforeScripts?: boolean
}

export type ExtractionCode =
  /** Neither HTML, PDF, JSON nor plain text. */
  | 'content_type_unsupported'
  /** Damaged, encrypted, too large, or nested too deeply. */
  | 'content_unreadable'
  /** Well-formed but without text. */
  | 'content_empty'

/** No article could be extracted; the caller is refunded. */
export class ExtractionError extends Error {
  override readonly name = 'ExtractionError'
  readonly code: ExtractionCode
  /** @param detail sentence that may be shown to the caller */
  constructor(code: ExtractionCode, detail: string) {
    super(detail)
    this.code = code
  }
}
