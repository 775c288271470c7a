import { type CheerioAPI, load } from 'cheerio/slim'
import type { AnyNode, ParentNode } from 'domhandler'
import { type Article, ExtractionError, type ExtractOptions } from './article.ts'
import { bodyOf } from './body.ts'
import { removeAll, removeHidden, removeSurroundings } from './clean.ts'
import { removeCopies } from './copies.ts'
import { parse, wrapNodes } from './dom.ts'
import { isForum } from './kind.ts'
import { markdownOf } from './markdown.ts'
import { absolute, type Metadata, metadataOf } from './metadata.ts'
import { headingsOf, imagesOf, isEmptyImage, linksOf } from './outline.ts'
import { textOf } from './text.ts'
import { trim } from './trim.ts'
import { countWords } from './words.ts'

/** Share of schema.org's articleBody below which a body does not contain the article. */
const ARTICLE_BODY_SHARE = 0.4

/** Uses the declared articleBody if the elements hold hardly any of it. */
function bodyFrom(
  root: ParentNode,
  { title, told }: Pick<Metadata, 'title' | 'told'>,
  isThread: boolean,
): ParentNode {
  removeHidden(root)
  removeSurroundings(root, isThread)
  const body = bodyOf(root)
  removeCopies(body)
  trim(body, title)
  if (told === undefined || textOf(body).length > ARTICLE_BODY_SHARE * told.length) return body
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

/** Linear: 0.2 ms per kilobyte. @throws ExtractionError `content_unreadable`, `content_empty` */
export function extract(html: string, url: string, options: ExtractOptions = {}): Article {
  const $ = load(parse(html))
  const base = absolute($('base').attr('href'), url) ?? url
  const { told, ...metadata } = metadataOf($, url)
  const isThread = isForum($, url)
  const root = $.root()[0]!
  const excluded = new Set((options.exclude ?? []).flatMap((each) => selected($, each)))
  removeAll(root, (node) => excluded.has(node) || isEmptyImage(node))
  const body = bodyFrom(root, { ...metadata, told }, isThread)
  const text = textOf(body)
  if (text === '') throw new ExtractionError('content_empty', 'The page has no text.')
  const within = $(wrapNodes([...body.children]))
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
