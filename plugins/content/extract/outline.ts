import type { Cheerio, CheerioAPI } from 'cheerio/slim'
import { type AnyNode, isTag } from 'domhandler'
import type { Heading, Image, Link } from './article.ts'
import { collapseSpaces } from './measure.ts'
import { absolute } from './metadata.ts'

const HEADINGS_MAX = 500
const LINKS_MAX = 1_000
const IMAGES_MAX = 500
const TEXT_MAX = 500
/** Attributes with the URL of lazily loaded images. */
const SOURCES = ['src', 'data-src', 'data-original', 'data-lazy-src', 'data-url'] as const

const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFKC')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 80)

/** Numbers ids that occur before. */
export function withUniqueIds(headings: readonly Heading[]): Heading[] {
  const taken = new Map<string, number>()
  return headings.slice(0, HEADINGS_MAX).map((heading) => {
    const times = (taken.get(heading.id) ?? 0) + 1
    taken.set(heading.id, times)
    return times === 1 ? heading : { ...heading, id: `${heading.id}-${times}` }
  })
}

/** Makes an id of the words of a heading. */
export const idOf = (text: string): string => slugOf(text) || 'section'

/** Lists the headings in order, each with a unique id. */
export function headingsOf($: CheerioAPI, body: Cheerio<AnyNode>): Heading[] {
  const found = body
    .find('h1, h2, h3, h4, h5, h6')
    .slice(0, HEADINGS_MAX)
    .toArray()
    .flatMap((heading) => {
      const text = collapseSpaces($(heading).text()).slice(0, TEXT_MAX)
      if (text === '') return []
      const own = heading.attribs['id'] ?? $(heading).find('[id]').attr('id')
      return [{ level: Number(heading.name[1]), text, id: own ?? idOf(text) }]
    })
  return withUniqueIds(found)
}

/** Returns the headline if it is the title; the body no longer holds it. */
export function headlineOf($: CheerioAPI, title: string): Heading[] {
  const found = $('h1')
    .toArray()
    .find((heading) => collapseSpaces($(heading).text()) === title)
  if (!found || title === '') return []
  return [{ level: 1, text: title.slice(0, TEXT_MAX), id: found.attribs['id'] ?? slugOf(title) }]
}

export function linksOf($: CheerioAPI, body: Cheerio<AnyNode>, base: string): Link[] {
  const found = new Map<string, string>()
  for (const anchor of body.find('a[href]')) {
    if (found.size >= LINKS_MAX) break
    const text = collapseSpaces($(anchor).text()).slice(0, TEXT_MAX)
    const href = absolute(anchor.attribs['href'], base)
    if (text !== '' && href !== undefined && !found.has(href)) found.set(href, text)
  }
  return Array.from(found, ([href, text]) => ({ href, text }))
}

/** True for a tracking pixel or no URL. Other images get the URL that they will load as `src`. */
export function isEmptyImage(node: AnyNode): boolean {
  if (!isTag(node) || node.name !== 'img') return false
  const { attribs } = node
  const set = (attribs['srcset'] ?? attribs['data-srcset'] ?? '').trim().split(/\s+/)[0]
  const source = [...SOURCES.map((name) => attribs[name]), set].find(
    (each) => each !== undefined && each !== '' && !each.startsWith('data:'),
  )
  if (source === undefined || attribs['width'] === '1' || attribs['height'] === '1') return true
  attribs['src'] = source
  return false
}

export function imagesOf(body: Cheerio<AnyNode>, base: string): Image[] {
  const found = new Map<string, string>()
  for (const { attribs } of body.find('img[src]')) {
    if (found.size >= IMAGES_MAX) break
    const src = absolute(attribs['src'], base)
    if (src !== undefined && !found.has(src)) {
      found.set(src, collapseSpaces(attribs['alt'] ?? '').slice(0, TEXT_MAX))
    }
  }
  return Array.from(found, ([src, alt]) => ({ src, alt }))
}
