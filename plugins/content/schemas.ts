import { s } from 'agenthub/plugin'
import { KINDS } from './extract/kind.ts'

const url = (examples: readonly string[] = []) =>
  s.string({ minLength: 1, maxLength: 2_048, description: 'Of a page of this domain.', examples })

const maxAge = s.optional(
  s.integer({
    minimum: 0,
    maximum: 2_592_000,
    description: 'Seconds: how old the page may be; the owner may allow less.',
  }),
)

/** @param example URL of a page of the domain */
export const inputOf = (example: string) =>
  s.object({
    url: url([example]),
    preview: s.optional(
      s.boolean({ description: 'Only the beginning, for nothing, where the owner allows that.' }),
    ),
    max_age: maxAge,
    etag: s.optional(
      s.string({
        maxLength: 100,
        description: 'Of the version that you have: unchanged, it is free and not sent again.',
      }),
    ),
    unchanged_since: s.optional(
      s.string({
        format: 'date-time',
        description: 'As etag, for a page that the cache knows to be older.',
      }),
    ),
  })

export const URLS_MAX = 50

export const batchInputOf = (example: string) =>
  s.object({
    urls: s.array(url([example]), { minItems: 1, maxItems: URLS_MAX }),
    max_age: maxAge,
  })

export const noInput = s.object({})

const LIST_MAX = 100

export const listInput = s.object({
  limit: s.optional(s.integer({ minimum: 1, maximum: LIST_MAX, description: 'Default 50.' })),
  cursor: s.optional(
    s.string({ maxLength: 2_048, description: 'next_cursor of the previous page.' }),
  ),
})

const text = s.nullable(s.string())

const product = s.object({
  type: s.oneOf(['product']),
  name: text,
  description: text,
  brand: text,
  sku: text,
  gtin: text,
  offers: s.array(s.object({ price: s.string(), currency: text, availability: text })),
})
const recipe = s.object({
  type: s.oneOf(['recipe']),
  name: text,
  yield: text,
  prep_time: text,
  cook_time: text,
  total_time: text,
  ingredients: s.array(s.string()),
  steps: s.array(s.string()),
})

const version = {
  etag: s.string({ description: 'Equal for equal content.' }),
  changed_at: s.string({
    format: 'date-time',
    description: 'When it was first read in this version, as far as the cache knows.',
  }),
}
const cache = s.object({ hit: s.boolean(), age_seconds: s.integer({ minimum: 0 }) })

const page = s.object({
  url: s.string({ description: 'The page that was asked for.' }),
  canonical_url: s.string({ description: 'The address that the page names as its own.' }),
  kind: s.oneOf(KINDS, { description: 'What the page is.' }),
  confidence: s.nullable(
    s.number({
      minimum: 0,
      maximum: 1,
      description: 'From 0.95 on, the text is nearly always right.',
    }),
  ),
  data: s.nullable(s.anyOf(product, recipe)),
  title: s.string(),
  byline: text,
  published_at: text,
  modified_at: text,
  lang: text,
  description: text,
  text: s.string({ description: 'Plain text in reading order.' }),
  headings: s.array(
    s.object({ level: s.integer({ minimum: 1, maximum: 6 }), text: s.string(), id: s.string() }),
  ),
  markdown: s.string({ description: 'GitHub Flavored Markdown.' }),
  links: s.array(s.object({ href: s.string(), text: s.string() })),
  images: s.array(s.object({ src: s.string(), alt: s.string() })),
  word_count: s.integer({ minimum: 0 }),
  content_type: s.string(),
  read_by: s.oneOf(['browser', 'fast'], { description: 'fast: without a browser.' }),
  etag: s.optional(version.etag),
  changed_at: s.optional(version.changed_at),
  cache,
  preview: s.optional(
    s.object({
      characters: s.integer({ minimum: 0, description: 'That are shown.' }),
      of: s.integer({ minimum: 0, description: 'That the whole text has.' }),
    }),
  ),
})

const unchanged = s.object({
  url: s.string(),
  unchanged: s.boolean(),
  ...version,
  etag: s.optional(version.etag),
  cache,
})

export const output = s.anyOf(page, unchanged)

const amount = s.integer({ minimum: 0 })

export const batchOutput = s.object({
  delivered: amount,
  charged_microdollars: amount,
  pages: s.array(
    s.object({
      url: s.string({ description: 'As in the request, in its order.' }),
      charged_microdollars: amount,
      page: s.nullable(page),
      error: s.nullable(s.object({ code: s.string(), detail: s.string() })),
    }),
  ),
})

export const listOutput = s.object({
  data: s.array(
    s.object({
      url: s.string(),
      modified: s.nullable(s.string({ format: 'date-time', description: 'As the sitemap says.' })),
      price_microdollars: amount,
      cached_price_microdollars: amount,
      max_age_seconds: amount,
      preview_characters: amount,
    }),
  ),
  next_cursor: s.nullable(s.string()),
  read_at: s.string({ format: 'date-time', description: 'When the sitemaps were read.' }),
  problem: s.nullable(s.string({ description: 'Why pages may be missing.' })),
})
