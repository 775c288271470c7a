import {
  type ChildNode,
  type Element,
  hasChildren,
  isTag,
  isText,
  type ParentNode,
} from 'domhandler'
import { removeAround } from './clean.ts'
import { dateOf } from './dates.ts'
import { findElement, holdsAny, isHeading, sumOfOutermost } from './elements.ts'
import type { Kind } from './kind.ts'
import { isWhole, layoutNames, rememberNames } from './layout.ts'
import { isListedArticle, leadsOutside, leadsToNetworks } from './links.ts'
import { collapseSpaces, INLINE, isLeaf, type Measures, measure, measureOf } from './measure.ts'
import { annotationName, isCaptionName, isPictureName } from './names.ts'
import { isBoilerplateLine, isCreditLine } from './phrases.ts'
import { reduceCards } from './posts.ts'
import { removeBios, removeSections } from './sections.ts'
import { textOf } from './text.ts'

/** Maximum length of a removable caption; longer ones are text, as in galleries. */
const CAPTION_MAX = 350
/** Content of a figure that is more than an image. */
const SUBSTANCE: ReadonlySet<string> = new Set(['table', 'pre', 'blockquote', 'ul', 'ol', 'math'])

/** Removes the text below an element and keeps images and the given elements. */
function removeText(root: ParentNode, kept: ReadonlySet<ChildNode>): void {
  root.children = root.children.filter((child) => isTag(child))
  for (const child of root.children)
    if (hasChildren(child) && !kept.has(child)) removeText(child, kept)
}

/** Returns the share of the text within links. */
const linkShare = (measures: Measures, element: Element): number => {
  const { text, linked } = measureOf(measures, element)
  return text === 0 ? 0 : linked / text
}

const PICTURES: ReadonlySet<string> = new Set(['img'])

/** Returns true for a caption: the only text in a box that is named as a picture and holds one. */
function isCaption(element: Element, measures: Measures): boolean {
  const { parent } = element
  const { text } = measureOf(measures, element)
  if (!isLeaf(element) || text === 0 || text >= CAPTION_MAX || !parent || !isTag(parent))
    return false
  return (
    measureOf(measures, parent).text === text && isPictureName(parent) && holdsAny(parent, PICTURES)
  )
}

const PARAGRAPHS: ReadonlySet<string> = new Set(['p', 'div'])
const LISTS: ReadonlySet<string> = new Set(['ul', 'ol', 'dl'])
function isUnwanted(element: Element, measures: Measures, title: string, host: string): boolean {
  const { text, prose } = measureOf(measures, element)
  if (text === 0) return false
  const share = linkShare(measures, element)
  if (isHeading(element)) {
    const words = collapseSpaces(textOf(element))
    return words === title || isBoilerplateLine(words, share)
  }
  if (LISTS.has(element.name) && prose === 0 && share > 0.7) return !leadsOutside(element, host)
  if (!isLeaf(element)) return false
  if (share > 0.7 && leadsToNetworks(element)) return true
  if (element.name === 'p' && share > 0.9 && text > 12 && !leadsOutside(element, host)) return true
  const words = collapseSpaces(textOf(element))
  return isBoilerplateLine(words, share)
}

/** Returns true for a line about a picture or the time of the text. */
function isMarginalLine(element: Element, measures: Measures): boolean {
  if (!isLeaf(element)) return false
  const words = collapseSpaces(textOf(element))
  if (PARAGRAPHS.has(element.name) && dateOf(words) !== undefined) return true
  return isCreditLine(words, linkShare(measures, element))
}

/** Returns true if an inline element is a line of its own. */
const isStandaloneLine = ({ parent }: Element): boolean =>
  parent !== null && isTag(parent) && !INLINE.has(parent.name) && !isLeaf(parent)

const textBefore = (children: readonly ChildNode[], at: number): ChildNode | undefined =>
  children.slice(0, at).findLast((child) => !isText(child) || child.data.trim() !== '')

/** Returns true for a heading, or a line such as `More:`, that only introduces what follows. */
const isLeadIn = (node: ChildNode | undefined): node is Element =>
  node !== undefined &&
  isTag(node) &&
  (isHeading(node) || (isLeaf(node) && /^.{1,60}:$/u.test(collapseSpaces(textOf(node)))))

/** Removes unwanted elements, each with the heading that introduces it; keeps marginal ones. */
function removeUnwanted(
  root: ParentNode,
  measures: Measures,
  title: string,
  host: string,
  marginal: Set<ChildNode>,
): void {
  const removed = new Set<ChildNode>()
  root.children.forEach((child, at) => {
    if (!isTag(child) || marginal.has(child)) return
    if (isMarginalLine(child, measures)) marginal.add(child)
    else if (isUnwanted(child, measures, title, host)) removed.add(child)
    else return
    const before = textBefore(root.children, at)
    if (LISTS.has(child.name) && isLeadIn(before)) removed.add(before)
  })
  root.children = root.children.filter((child) => !removed.has(child))
  for (const child of root.children)
    if (isTag(child) && !isWhole(child) && !marginal.has(child)) {
      removeUnwanted(child, measures, title, host, marginal)
    }
}

/** Facts about a page, by which its text is trimmed. */
export interface PageFacts {
  readonly title: string
  readonly kind: Kind
  readonly host: string
  readonly byline: string | null
}

/** Kinds whose lists of links are content. */
const LISTS_LINKS: ReadonlySet<Kind> = new Set<Kind>(['documentation', 'wiki', 'listing'])

/**
 * Removes lists of other articles, invitations to share and, except in a thread, authors and dates.
 * @returns marginal elements, which are not part of the text: captions, sources, authors and dates
 */
export function trim(
  root: ParentNode,
  { title, kind, host, byline }: PageFacts,
): ReadonlySet<ChildNode> {
  const measures = measure(root)
  const whole = measures.get(root)?.prose ?? 0
  const marginal = kind === 'forum' ? reduceCards(root, measures) : new Set<ChildNode>()
  const nameOf = rememberNames(annotationName)
  const layout = layoutNames(root, measures, nameOf)
  const annotated: Element[] = []
  removeAround(root, (node) => {
    if (!isTag(node)) return false
    const { prose } = measureOf(measures, node)
    if (node.name === 'form' && prose < 0.3 * whole) return true
    if (node.name === 'time' && isStandaloneLine(node)) {
      marginal.add(node)
      return kind !== 'forum'
    }
    const name = nameOf(node)
    if (node.name === 'figcaption' && prose < CAPTION_MAX) marginal.add(node)
    else if (isCaption(node, measures)) marginal.add(node)
    else if (node.name === 'figure' && prose < CAPTION_MAX && !holdsAny(node, SUBSTANCE))
      annotated.push(node)
    else if (
      name !== undefined &&
      !layout.has(name) &&
      prose < Math.min(0.3 * whole, CAPTION_MAX)
    ) {
      if (isCaptionName(name) || kind === 'forum') marginal.add(node)
      else if (kind !== 'product') annotated.push(node)
    }
    return false
  })
  const isMostText = (element: Element): boolean => measureOf(measures, element).prose * 2 > whole
  if (findElement(root, (node) => isHeading(node) && isMostText(node))) return marginal
  for (const node of annotated) removeText(node, marginal)
  if (!LISTS_LINKS.has(kind)) {
    if (kind !== 'forum') {
      removeListedArticles(root, measures)
      removeSections(root, measures, kind)
      removeBios(root, byline)
    }
    removeUnwanted(root, measures, title, host, marginal)
  }
  return marginal
}

/** Share of the prose from which articles with linked headings are the text. */
const LISTED_SHARE = 0.6

/** Minimum prose of an article with the headline of the page, beside which others are listed. */
const OWN_MIN = 120

const articleAround = (node: ParentNode | null | undefined): Element | undefined => {
  if (!node) return undefined
  return isTag(node) && node.name === 'article' ? node : articleAround(node.parent)
}

/** Removes articles that stand elsewhere, unless the page has little else. */
function removeListedArticles(root: ParentNode, measures: Measures): void {
  const listedProse = (node: ParentNode): number =>
    sumOfOutermost(node, (element) =>
      isListedArticle(element) ? measureOf(measures, element).prose : undefined,
    )
  const own = articleAround(findElement(root, ({ name }) => name === 'h1'))
  const isPost =
    own !== undefined && measureOf(measures, own).prose >= OWN_MIN && listedProse(own) === 0
  const whole = measures.get(root)?.prose ?? 0
  if (listedProse(root) >= LISTED_SHARE * whole && !isPost) return
  removeAround(root, (node) => isTag(node) && isListedArticle(node))
}
