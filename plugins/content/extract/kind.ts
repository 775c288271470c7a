import type { CheerioAPI } from 'cheerio/slim'
import { type Element, isTag, type ParentNode } from 'domhandler'
import { sumOfOutermost } from './elements.ts'
import { measure, measureOf } from './measure.ts'
import { rowsOf } from './tables.ts'

/** Kinds of pages; each keeps and drops different parts. */
export const KINDS = [
  'article',
  'documentation',
  'product',
  'recipe',
  'forum',
  'wiki',
  'listing',
  'table',
  'pdf',
] as const
export type Kind = (typeof KINDS)[number]

const FORUM_HOST = /^(?:forums?|community|discuss|discourse|boards?|answers|talk)\./
const FORUM_PATH = /\/(?:forums?|threads?|boards?|discussions?|talk|comments|s)\//
/** Paths such as `/t/name-of-the-thread/17`. */
const THREAD_PATH = /\/(?:t|topic)\/(?:[^/]+\/)?\d|showthread|viewtopic|showtopic|[?&]topic=\d/
const FORUM_SOFTWARE =
  /discourse|phpbb|vbulletin|xenforo|flarum|invision|vanilla|nodebb|simple machines|mybb/
const FORUM_MARKS =
  'html#XF, body.ipsApp, [itemtype$=DiscussionForumPosting], [itemtype$="/QAPage"]'

const PRODUCT_TYPE = /^(?:og:)?product(?:\.item)?$/
/** Marks of shop software that shows one product. */
const PRODUCT_MARKS = 'body.single-product, body.template-product, body.catalog-product-view'

const WIKI_SOFTWARE = /mediawiki|dokuwiki|xwiki|tiddlywiki|moinmoin|pmwiki/
const DOCUMENTATION_HOST =
  /^(?:docs?|developers?|devdocs|documentation|wiki|man|manual|api)\.|readthedocs/
const DOCUMENTATION_PATH = /\/(?:docs?|documentation|manual|reference|api|javadoc|wiki|man)(?:\/|$)/
const DOCUMENTATION_SOFTWARE =
  /sphinx|docusaurus|mkdocs|vitepress|vuepress|gitbook|antora|doc(?:book|tor)|doxygen|starlight/

/** Returns the kind that a page declares, or `article`. Call it before anything is removed. */
export function declaredKind($: CheerioAPI, address: string): Kind {
  const url = new URL(address.slice(0, 2_000).toLowerCase())
  const software = ($('meta[name=generator]').attr('content') ?? '').toLowerCase()
  const data = $('script[type="application/ld+json"]').text()
  if (isForum($, url, software, data)) return 'forum'
  if (isProduct($, data)) return 'product'
  if (data.includes('"Recipe"') || $('[itemtype$="/Recipe"]').length === 1) return 'recipe'
  if (WIKI_SOFTWARE.test(software)) return 'wiki'
  const isDocumentation =
    DOCUMENTATION_HOST.test(url.hostname) ||
    DOCUMENTATION_PATH.test(url.pathname) ||
    DOCUMENTATION_SOFTWARE.test(software)
  return isDocumentation ? 'documentation' : 'article'
}

const isForum = ($: CheerioAPI, { hostname, href }: URL, software: string, data: string): boolean =>
  FORUM_HOST.test(hostname) ||
  FORUM_PATH.test(href) ||
  THREAD_PATH.test(href) ||
  FORUM_SOFTWARE.test(software) ||
  $(FORUM_MARKS).length > 0 ||
  /"(?:DiscussionForumPosting|QAPage)"/.test(data)

/** Returns true for the page of one product; others mention products for the ratings they show. */
function isProduct($: CheerioAPI, data: string): boolean {
  const type = $('meta[property="og:type"]').attr('content')?.trim().toLowerCase() ?? ''
  if (PRODUCT_TYPE.test(type) || $(PRODUCT_MARKS).length > 0) return true
  if (type === 'product.group' || /"(?:ItemList|CollectionPage)"/.test(data)) return false
  const isOffered = /"Product(?:Group)?"/.test(data) && /"(?:Aggregate)?Offer"/.test(data)
  return isOffered || $('[itemtype$="/Product"]').length === 1
}

/** Share and characters of prose below which a page lists what other pages hold. */
const LISTING = { share: 0.4, prose: 1_000 } as const
/** Kinds that may have hardly any prose. */
const SPARSE: ReadonlySet<Kind> = new Set<Kind>(['forum', 'product', 'wiki'])

/** Returns the kind of a page without its surroundings: `listing` if hardly any prose is left. */
export function kindWithin(root: ParentNode, declared: Kind): Kind {
  const { prose, text } = measure(root).get(root)!
  const isListing = prose < LISTING.share * text && prose < LISTING.prose
  return isListing && !SPARSE.has(declared) ? 'listing' : declared
}

/** Share of the text in data tables above which a page is a table. */
const TABLE_SHARE = 0.6

/** Returns true if most of the text is in data tables. */
export function isTablePage(body: ParentNode): boolean {
  const measures = measure(body)
  const textOfTable = (element: Element): number | undefined =>
    element.name === 'table' && rowsOf(element) ? measureOf(measures, element).text : undefined
  const own = isTag(body) ? textOfTable(body) : undefined
  const text = own ?? sumOfOutermost(body, textOfTable)
  return text > TABLE_SHARE * (measures.get(body)?.text ?? 0)
}
