import type { Cheerio, CheerioAPI } from 'cheerio/slim'
import type { Element } from 'domhandler'
import type { Article } from './article.ts'
import { dateOf } from './dates.ts'
import { type Fields, type LinkedArticle, linkedArticleOf, linkedObjectsOf } from './linked-data.ts'
import { collapseSpaces } from './measure.ts'

export interface Metadata
  extends Pick<
    Article,
    'canonical_url' | 'title' | 'byline' | 'published_at' | 'modified_at' | 'lang' | 'description'
  > {
  /** The article's text according to schema.org's articleBody. */
  readonly articleText: string | undefined
  /** All objects of linked data. */
  readonly linkedObjects: readonly Fields[]
}

const TEXT_MAX = 2_000
const BYLINE_MAX = 200
const BYLINES = `[rel~=author], [itemprop~=author] [itemprop~=name], [itemprop~=author],
  .byline-name, .author-name, .byline .author, .byline, .post-author, .entry-author, .author`
const PUBLISHED =
  `article:published_time og:published_time datepublished date dc.date dc.date.issued
  dcterms.created dcterms.date pubdate publishdate publish-date publication_date parsely-pub-date
  sailthru.date article.published cxenseparse:recs:publishtime`.split(/\s+/)
const MODIFIED = `article:modified_time og:updated_time datemodified dc.date.modified
  dcterms.modified last-modified article.updated lastmod`.split(/\s+/)
const LANGUAGE = /^[a-z]{2,3}(?:[-_][a-z0-9]{2,8})*$/i

/** Resolves a link; undefined unless it is http or https. */
export function absolute(href: string | undefined, base: string): string | undefined {
  if (href === undefined || href.length > TEXT_MAX) return undefined
  const url = URL.parse(href.trim(), base)
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined
}

/** Reads the meta elements, the first of each name. */
function metaOf($: CheerioAPI): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const element of $('meta[content]')) {
    const { name, property, itemprop, content } = element.attribs
    const key = (property ?? name ?? itemprop ?? element.attribs['http-equiv'] ?? '').toLowerCase()
    const value = collapseSpaces(content ?? '')
    if (key !== '' && value !== '' && !found.has(key)) found.set(key, value.slice(0, TEXT_MAX))
  }
  return found
}

const first = <T>(...values: readonly (T | undefined)[]): T | undefined =>
  values.find((value) => value !== undefined)

const SEPARATORS = [' | ', ' - ', ' – ', ' — ', ' · ', ' » ', ': ']

/** Strips the site name from a title. */
function bareTitle(title: string, site: string): string {
  for (const separator of site === '' ? [] : SEPARATORS) {
    if (title.endsWith(separator + site)) return title.slice(0, -(separator + site).length)
    if (title.startsWith(site + separator)) return title.slice((site + separator).length)
  }
  return title
}

/** URL of a site's first page, also without its host. */
const SITE_ROOT = /^(?:(?:https?:)?\/\/[^/?#]+)?\/?$/i

/** Returns true for the name of the site, which links to its first page as a whole. */
function isMasthead(heading: Cheerio<Element>): boolean {
  const link = heading.find('a[href]').first()
  const href = link.attr('href')?.trim() ?? ''
  return (
    href !== '' &&
    SITE_ROOT.test(href) &&
    collapseSpaces(link.text()) === collapseSpaces(heading.text())
  )
}

function titleOf($: CheerioAPI, meta: ReadonlyMap<string, string>, linked: LinkedArticle): string {
  const headings = $('h1')
    .toArray()
    .filter((heading) => !isMasthead($(heading)))
    .map((heading) => collapseSpaces($(heading).text()))
    .filter((text) => text !== '')
  const page = collapseSpaces($('title').first().text())
  // The article's heading is repeated in the page title; the site's name is not.
  const heading = headings.find((text) => text.length > 3 && page.includes(text))
  const title = first(
    heading,
    meta.get('og:title'),
    linked.headline,
    meta.get('twitter:title'),
    headings.length === 1 ? headings[0] : undefined,
    page,
  )
  return bareTitle(collapseSpaces(title ?? ''), meta.get('og:site_name') ?? '').slice(0, TEXT_MAX)
}

function bylineOf($: CheerioAPI, meta: ReadonlyMap<string, string>, linked: LinkedArticle) {
  const shown = $(BYLINES)
    .toArray()
    .map((element) => collapseSpaces($(element).text()))
    .find((text) => text !== '' && text.length <= BYLINE_MAX)
  const declared = [
    meta.get('author'),
    meta.get('article:author'),
    meta.get('parsely-author'),
  ].find((text) => text !== undefined && !/^https?:|^@/.test(text))
  const byline = linked.authors.length > 0 ? linked.authors.join(', ') : first(declared, shown)
  const bare = byline?.replace(/^(?:by|von|par|por|di|da|door|autor)[:\s]+/i, '').trim()
  return bare === undefined || bare === '' ? null : bare.slice(0, BYLINE_MAX)
}

function timesOf($: CheerioAPI, meta: ReadonlyMap<string, string>, linked: LinkedArticle) {
  const shown = (names: string): string | undefined =>
    dateOf($(names).attr('datetime') ?? $(names).attr('content') ?? $(names).first().text())
  const declared = (names: readonly string[]): string | undefined =>
    first(...names.map((name) => dateOf(meta.get(name))))
  return {
    published_at:
      first(
        dateOf(linked.datePublished),
        declared(PUBLISHED),
        shown('[itemprop~=datePublished]'),
        shown('article time[datetime], main time[datetime], time[pubdate]'),
        shown('time[datetime]'),
      ) ?? null,
    modified_at:
      first(dateOf(linked.dateModified), declared(MODIFIED), shown('[itemprop~=dateModified]')) ??
      null,
  }
}

function langOf($: CheerioAPI, meta: ReadonlyMap<string, string>, linked: LinkedArticle) {
  const declared = [
    $('html').attr('lang') ?? $('html').attr('xml:lang'),
    meta.get('content-language'),
    linked.inLanguage,
    meta.get('og:locale'),
    $('body').attr('lang'),
  ].find((tag) => tag !== undefined && LANGUAGE.test(tag.trim()))
  return declared?.trim().replaceAll('_', '-') ?? null
}

/** Reads the metadata of a page. Call it before anything is removed from the tree. */
export function metadataOf($: CheerioAPI, url: string): Metadata {
  const meta = metaOf($)
  const scripts = $('script[type="application/ld+json"]').toArray()
  const linkedObjects = linkedObjectsOf(scripts.map((script) => $(script).text()))
  const linked = linkedArticleOf(linkedObjects)
  const description = first(
    meta.get('description'),
    meta.get('og:description'),
    meta.get('twitter:description'),
    linked.description,
  )
  return {
    canonical_url:
      absolute($('link[rel~=canonical]').attr('href'), url) ??
      absolute(meta.get('og:url'), url) ??
      url,
    title: titleOf($, meta, linked),
    byline: bylineOf($, meta, linked),
    ...timesOf($, meta, linked),
    lang: langOf($, meta, linked),
    description: description?.slice(0, TEXT_MAX) ?? null,
    articleText: linked.articleBody,
    linkedObjects,
  }
}
