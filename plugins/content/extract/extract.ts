import { type CheerioAPI, load } from 'cheerio/slim'
import type { AnyNode, ParentNode } from 'domhandler'
import { type Article, ExtractionError, type ExtractOptions } from './article.ts'
import { bodyOf } from './body.ts'
import { removeAll, removeForeign, removeSilent } from './clean.ts'
import { parse, wrapped } from './dom.ts'
import { markdownOf } from './markdown.ts'
import { absolute, metadataOf } from './metadata.ts'
import { headingsOf, imagesOf, isHollowImage, linksOf } from './outline.ts'
import { textOf } from './text.ts'
import { trim } from './trim.ts'
import { countWords } from './words.ts'

/** A body with so little of what schema.org's articleBody tells lacks the article. */
const TOLD_SHARE = 0.4

/** The text that the page tells of itself, where its elements hold hardly any of it. */
function bodyFrom(root: ParentNode, title: string, told: string | undefined): ParentNode {
  removeSilent(root)
  removeForeign(root)
  const body = bodyOf(root)
  trim(body, title)
  if (told === undefined || textOf(body).length > TOLD_SHARE * told.length) return body
  const paragraphs = told.split(/\n+/).map((line) => `<p>${line}</p>`)
  return parse(paragraphs.join(''))
}

function selected($: CheerioAPI, selector: string): AnyNode[] {
  try {
    return $(selector).toArray()
  } catch {
    throw new ExtractionError('content_unreadable', `${selector} is not a selector of CSS.`)
  }
}

/**
 * Reads the article out of a page: what it says of itself, and its text without what stands around
 * it. Takes time in proportion to the page: about 0.2 ms for a kilobyte.
 *
 * @param url where the page was, for what is relative in it
 * @throws ExtractionError `content_unreadable` beyond the limits, `content_empty` without a text
 */
export function extract(html: string, url: string, options: ExtractOptions = {}): Article {
  const $ = load(parse(html))
  const base = absolute($('base').attr('href'), url) ?? url
  const { told, ...metadata } = metadataOf($, url)
  const root = $.root()[0]!
  const excluded = new Set((options.exclude ?? []).flatMap((each) => selected($, each)))
  removeAll(root, (node) => excluded.has(node) || isHollowImage(node))
  const body = bodyFrom(root, metadata.title, told)
  const text = textOf(body)
  if (text === '') throw new ExtractionError('content_empty', 'The page has no text.')
  const within = $(wrapped([...body.children]))
  return {
    url,
    ...metadata,
    text,
    headings: headingsOf($, within),
    markdown: markdownOf(body, base),
    links: linksOf($, within, base),
    images: imagesOf(within, base),
    word_count: countWords(text),
    content_type: 'text/html',
  }
}
