import { s } from 'agenthub/plugin'
import { KINDS } from './extract/kind.ts'

/** @param example URL of a page of the domain */
export const inputOf = (example: string) =>
  s.object({
    url: s.string({
      minLength: 1,
      maxLength: 2_048,
      description: 'Of a page of this domain.',
      examples: [example],
    }),
    preview: s.optional(
      s.boolean({ description: 'Only the beginning, for nothing, where the owner allows that.' }),
    ),
    max_age: s.optional(
      s.integer({
        minimum: 0,
        maximum: 2_592_000,
        description: 'Seconds: how old the page may be; the owner may allow less.',
      }),
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

export const output = s.object({
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
  cache: s.object({ hit: s.boolean(), age_seconds: s.integer({ minimum: 0 }) }),
  preview: s.optional(
    s.object({
      characters: s.integer({ minimum: 0, description: 'That are shown.' }),
      of: s.integer({ minimum: 0, description: 'That the whole text has.' }),
    }),
  ),
})
