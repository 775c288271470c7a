/** What a page came to: its article without whatever else stood around it. */
export interface Article {
  /** The address that was asked for. */
  readonly url: string
  /** The address that the page itself names, on whatever host; its own where it names none. */
  readonly canonical_url: string
  readonly title: string
  readonly byline: string | null
  /** ISO 8601: with an offset where the page tells one, else a date or a local time. */
  readonly published_at: string | null
  readonly modified_at: string | null
  /** BCP 47, as the page tells it. */
  readonly lang: string | null
  readonly description: string | null
  /** Plain text in reading order; blocks are a blank line apart, list items and rows one line. */
  readonly text: string
  /** Of the article, in order. `id` is the one in the page, or made from the words. */
  readonly headings: readonly Heading[]
  /** The article in GitHub Flavored Markdown, links and images absolute. */
  readonly markdown: string
  /** Links and images of the article, absolute, http and https only, each once. */
  readonly links: readonly Link[]
  readonly images: readonly Image[]
  /** Words of `text` by the rules of Unicode, which find words in CJK texts too. */
  readonly word_count: number
  /** What was read, without parameters: `text/html`. */
  readonly content_type: string
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

/** A page as it came: bytes, and what its sender said of them. */
export interface Document {
  readonly body: Uint8Array
  /** The whole Content-Type header. */
  readonly contentType: string | undefined
  readonly url: string
}

export interface ExtractOptions {
  /** CSS selectors of what the owner leaves out. */
  readonly exclude?: readonly string[]
}

export type ExtractionCode =
  /** Neither HTML, PDF, JSON nor plain text. */
  | 'content_type_unsupported'
  /** Damaged, encrypted, too large, or nested beyond all measure. */
  | 'content_unreadable'
  /** Well-formed, and without a text. */
  | 'content_empty'

/** A page that no article could be read from; whoever paid for it is refunded. */
export class ExtractionError extends Error {
  override readonly name = 'ExtractionError'
  readonly code: ExtractionCode
  /** @param detail a sentence that may be told to the caller */
  constructor(code: ExtractionCode, detail: string) {
    super(detail)
    this.code = code
  }
}
