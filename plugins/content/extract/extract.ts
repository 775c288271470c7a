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
import { countWords, wordsIn } from './words.ts'

/** Share of a declared text below which a body does not contain it. */
const DECLARED_SHARE = 0.4
/** Minimum characters of a declared description that may replace a body. */
const DESCRIPTION_MIN = 150

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

/** Puts a declared description before a longer body, and in the place of a shorter one. */
function withDescription(body: Body, description: string): Body {
  const declared = bodyOfText(description)
  if (body.text.length <= declared.text.length) return declared
  const root = wrapNodes([...declared.root.children, ...body.root.children])
  return { root, text: `${declared.text}\n\n${body.text}` }
}

/** Returns true if a body has hardly any of the article's declared text. */
const lacksArticle = (text: string, declared: string): boolean =>
  text.length <= DECLARED_SHARE * declared.length

/** Returns true if a body has hardly any of a product's description, which stands elsewhere. */
const lacksDescription = (text: string, declared: string, whole: string): boolean =>
  declared.length >= DESCRIPTION_MIN &&
  phrasesShared(text, declared) < DECLARED_SHARE &&
  (text.length < declared.length || phrasesShared(whole, declared) >= DECLARED_SHARE)

/** Returns the share of the phrases of `declared` that occur in `text`. */
function phrasesShared(text: string, declared: string): number {
  const wanted = new Set(phrasesIn(declared))
  const found = phrasesIn(text).filter((phrase) => wanted.has(phrase))
  return wanted.size === 0 ? 1 : new Set(found).size / wanted.size
}

/** Returns all runs of four words. */
function phrasesIn(text: string): string[] {
  const words = wordsIn(text)
  return words.slice(3).map((_, at) => words.slice(at, at + 4).join(' '))
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
  const whole = declared === 'product' ? textOf(root) : ''
  removeSurroundings(root, declared)
  const kind = kindWithin(root, declared)
  const found = bodyWithin(root, {
    title,
    kind,
    host: new URL(url).hostname,
    byline: metadata.byline,
  })
  const description = data?.type === 'product' ? data.description : null
  const { root: body, text } =
    description && lacksDescription(found.text, description, whole)
      ? withDescription(found, description)
      : data?.type !== 'product' && articleText && lacksArticle(found.text, articleText)
        ? bodyOfText(articleText)
        : found
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
