import { type Element, isTag, type ParentNode, Element as Tag } from 'domhandler'
import { elementsOf } from './elements.ts'
import type { Kind } from './kind.ts'
import { isListedArticle } from './links.ts'
import { INLINE, type Measures, measure, measureOf } from './measure.ts'
import { isBodyName } from './names.ts'

/** Share of its parent's prose from which an element counts as holding all of it. */
const NEARLY_ALL = 0.9
/** Share of the unlinked text. */
const HALF = 0.5
/** Shares of the prose required to trust an element as the body; clearer markup needs less. */
const SHARE = { articleBody: 0.2, main: 0.3, name: 0.45 }
/** Share from which a lead belongs to the text; a shorter one is a subtitle. */
const LEAD_SHARE: Readonly<Partial<Record<Kind, number>> & { other: number }> = {
  documentation: 0.005,
  product: 0.05,
  forum: 0.02,
  other: 0.15,
}

const isArticleBody = ({ attribs }: Element): boolean =>
  /\b(articleBody|text)\b/.test(attribs['itemprop'] ?? '')

const isMainPart = ({ name, attribs }: Element): boolean =>
  name === 'main' || attribs['role'] === 'main'

const isMain = (element: Element): boolean =>
  isMainPart(element) ||
  ((element.name === 'article' || element.attribs['role'] === 'article') &&
    !isListedArticle(element))

/** Share of the richest candidate's prose that other candidates need. */
const GOOD_PART = 0.3

const isHeadline = ({ name, attribs }: Element): boolean =>
  name === 'h1' || /\bheadline\b/.test(attribs['itemprop'] ?? '')

/** Finds the outermost elements that match and the headlines, in page order. */
function landmarks(root: ParentNode, isWanted: (element: Element) => boolean): Element[] {
  return elementsOf(root).flatMap((child) => {
    if (isWanted(child)) return [child]
    return [...(isHeadline(child) ? [child] : []), ...landmarks(child, isWanted)]
  })
}

/**
 * First good candidates up to the next headline: a page may continue with other articles.
 * @param share of the prose that all candidates need, or with `isStrict` those up to the headline
 */
function articleOf(
  root: ParentNode,
  measures: Measures,
  isWanted: (element: Element) => boolean,
  share: number,
  isStrict = false,
): Element[] {
  const marks = landmarks(root, isWanted)
  const proseOf = (element: Element): number => measureOf(measures, element).prose
  const found = marks.filter(isWanted)
  const best = found.reduce((most, each) => Math.max(most, proseOf(each)), 0)
  const first = marks.findIndex(
    (mark) => isWanted(mark) && best > 0 && proseOf(mark) >= GOOD_PART * best,
  )
  if (first < 0) return []
  const next = marks.findIndex((mark, at) => at > first && !isWanted(mark))
  const article = marks.slice(first, next < 0 ? undefined : next)
  const whole = measures.get(root)?.prose ?? 0
  const counted = (isStrict ? article : found).reduce((sum, each) => sum + proseOf(each), 0)
  return counted > share * whole ? article.filter((each) => proseOf(each) > 0) : []
}

const ancestorsOf = (node: ParentNode): ParentNode[] =>
  node.parent ? [node, ...ancestorsOf(node.parent)] : [node]

/** Returns the lowest common ancestor. */
function common(elements: readonly Element[]): ParentNode | undefined {
  const [first, ...others] = elements.map(ancestorsOf)
  return first?.find((each) => others.every((path) => path.includes(each)))
}

/** Matches elements that are a single block and so cannot be the whole text. */
const isBlock = (element: Element): boolean =>
  /^(p|h[1-6]|li|ul|ol|dl|dt|dd|blockquote|pre|tr|tbody|figure)$/.test(element.name) ||
  !element.children.some((child) => isTag(child) && !INLINE.has(child.name))

const leadShareOf = (kind: Kind): number => LEAD_SHARE[kind] ?? LEAD_SHARE.other

/** Descends while one child holds nearly all of the prose. */
function narrow(root: ParentNode, measures: Measures): ParentNode {
  const whole = measures.get(root)
  if (!whole || whole.prose === 0) return root
  const heir = elementsOf(root).find((child) => {
    const { prose, text, linked } = measureOf(measures, child)
    return prose >= NEARLY_ALL * whole.prose && text - linked >= HALF * (whole.text - whole.linked)
  })
  return heir && !isBlock(heir) ? narrow(heir, measures) : root
}

/**
 * Adds the text before the body within `main` if it is long enough to be its lead.
 * @param share minimum share of its prose
 */
function withLead(
  body: ParentNode,
  main: ParentNode,
  measures: Measures,
  share: number,
): ParentNode {
  const enough = share * (measures.get(body)?.prose ?? 0)
  const leads: Element[] = []
  for (let node = body; node !== main && node.parent; node = node.parent) {
    const before = elementsOf(node.parent).slice(
      0,
      elementsOf(node.parent).indexOf(node as Element),
    )
    leads.unshift(...before.filter((each) => measureOf(measures, each).prose > enough))
  }
  if (leads.length === 0) return body
  return new Tag('div', {}, [...leads, body])
}

/** Returns the smallest element that holds the article's text, or all items of a page of items. */
export function bodyOf(root: ParentNode, kind: Kind): ParentNode {
  if (kind === 'listing' || kind === 'forum') return itemsOf(root, kind)
  const measures = measure(root)
  const main = common(articleOf(root, measures, isMain, SHARE.main)) ?? root
  const named =
    common(articleOf(main, measures, isArticleBody, SHARE.articleBody)) ??
    common(articleOf(main, measures, isBodyName, SHARE.name, true)) ??
    main
  return withLead(narrow(named, measures), main, measures, leadShareOf(kind))
}

/** Returns the smallest element that holds all items: each may be an `article` with a headline. */
function itemsOf(root: ParentNode, kind: 'listing' | 'forum'): ParentNode {
  const measures = measure(root, { countsAll: kind === 'listing' })
  const main = common(articleOf(root, measures, isMainPart, SHARE.main)) ?? root
  const items = narrow(main, measures)
  return withLead(items, root, measure(root), leadShareOf(kind))
}
