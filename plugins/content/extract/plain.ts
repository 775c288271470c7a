import { type Article, ExtractionError } from './article.ts'
import { countWords } from './words.ts'

const TITLE_MAX = 200
const CHARACTERS_MAX = 8_000_000

/** Builds the article of a document without markup. */
export function articleOf(
  url: string,
  content_type: string,
  text: string,
  more: Partial<Article> = {},
): Article {
  if (text === '') throw new ExtractionError('content_empty', 'The document has no text.')
  if (text.length > CHARACTERS_MAX) {
    throw new ExtractionError('content_unreadable', `The text is over ${CHARACTERS_MAX} long.`)
  }
  return {
    url,
    canonical_url: url,
    kind: 'article',
    confidence: null,
    data: null,
    title: text.split('\n', 1)[0]!.trim().slice(0, TITLE_MAX),
    byline: null,
    published_at: null,
    modified_at: null,
    lang: null,
    description: null,
    text,
    headings: [],
    markdown: text,
    links: [],
    images: [],
    word_count: countWords(text),
    content_type,
    ...more,
  }
}

/** Reads plain text, trimmed. */
export const readPlain = (text: string, url: string, contentType: string): Article =>
  articleOf(url, contentType, text.replace(/\r\n?/g, '\n').trim())

const fileNameOf = (url: string): string => URL.parse(url)?.pathname.split('/').at(-1) || url

/** Reads JSON, indented; a code block in Markdown. */
export function readJson(text: string, url: string, contentType: string): Article {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ExtractionError('content_unreadable', 'The document is not valid JSON.')
  }
  const shown = JSON.stringify(value, undefined, 2)
  return articleOf(url, contentType, shown, {
    title: fileNameOf(url),
    markdown: `\`\`\`json\n${shown}\n\`\`\``,
  })
}
