import { type CheerioAPI, load } from 'cheerio/slim'
import type { AnyNode, ParentNode } from 'domhandler'
import { agreementOf, secondReading } from './agreement.ts'
import { type Article, ExtractionError, type ExtractOptions } from './article.ts'
import { bodyOf } from './body.ts'
import { removeAll, removeHidden, removeSurroundings } from './clean.ts'
import { removeCopies } from './copies.ts'
import { parse, wrapNodes } from './dom.ts'
import { declaredKind, isTablePage, kindWithin } from './kind.ts'
import { markdownOf } from './markdown.ts'
import { absolute, metadataOf } from './metadata.ts'
import { normalizeNotation } from './notation.ts'
import { headingsOf, headlineOf, imagesOf, isEmptyImage, linksOf } from './outline.ts'
import { placeStreamedParts } from './streamed.ts'
import { structuredDataOf } from './structured-data.ts'
import { textOf } from './text.ts'
import { type PageFacts, trim } from './trim.ts'
import { asksForScript, isUnrendered } from './unrendered.ts'
import { countWords } from './words.ts'

/** Share of a declared text below which a body does not contain it. */
const DECLARED_SHARE = 0.4

/** Text of a page and the elements that hold it, with what is shown beside it. */
interface Body {
  readonly root: ParentNode
  readonly text: string
}

function bodyWithin(page: ParentNode, facts: PageFacts): Body {
  const root = bodyOf(page, facts.kind)
  removeCopies(root, facts.kind)
  const marginal = trim(root, facts)
  return { root, text: textOf(root, marginal) }
}

function bodyOfText(text: string): Body {
  const lines = text.split(/\n+/).map((line) => `<p>${line}</p>`)
  const root = parse(lines.join(''))
  return { root, text: textOf(root) }
}

/** Returns true if a body has hardly any of the declared text. */
const lacksDeclared = (text: string, declared: string): boolean =>
  text.length <= DECLARED_SHARE * declared.length

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
  const { articleText, linkedObjects, ...metadata } = metadataOf($, url)
  const { title } = metadata
  const declared = declaredKind($, url)
  const data = structuredDataOf(linkedObjects, $, declared)
  const needsScript = asksForScript($)
  const headline = headlineOf($, title)
  const root = $.root()[0]!
  const excluded = new Set((options.exclude ?? []).flatMap((each) => selected($, each)))
  removeAll(root, (node) => excluded.has(node) || isEmptyImage(node))
  placeStreamedParts(root, $)
  normalizeNotation(root, $)
  removeHidden(root)
  const second = secondReading(root)
  removeSurroundings(root, declared)
  const kind = kindWithin(root, declared)
  const found = bodyWithin(root, {
    title,
    kind,
    host: new URL(url).hostname,
    byline: metadata.byline,
  })
  const declaredText = data?.type === 'product' ? data.description : articleText
  const { root: body, text } =
    declaredText && lacksDeclared(found.text, declaredText) ? bodyOfText(declaredText) : found
  if (text === '') throw new ExtractionError('content_empty', 'The page has no text.')
  if (options.beforeScripts && isUnrendered(body, needsScript)) {
    throw new ExtractionError('content_empty', 'A script has yet to fill the page.')
  }
  const within = $(wrapNodes([...body.children]))
  return {
    url,
    ...metadata,
    kind: kind !== 'forum' && isTablePage(body) ? 'table' : kind,
    confidence: agreementOf(text, second),
    data,
    text,
    headings: [...headline, ...headingsOf($, within)],
    markdown: markdownOf(body, base),
    links: linksOf($, within, base),
    images: imagesOf(within, base),
    word_count: countWords(text),
    content_type: 'text/html',
  }
}
