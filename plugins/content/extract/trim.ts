import {
  type ChildNode,
  type Element,
  hasChildren,
  isTag,
  isText,
  type ParentNode,
} from 'domhandler'
import { removeAll } from './clean.ts'
import { dateOf } from './dates.ts'
import { INLINE, type Measures, measure, measureOf, squeeze } from './measure.ts'
import { isFurniture } from './names.ts'
import { isAside } from './phrases.ts'
import { textOf } from './text.ts'

/** Longer captions are told for their own sake, as in a gallery. */
const CAPTION_MAX = 350
const HEADING = /^h[1-6]$/
/** What a figure may hold that is more than a picture. */
const SUBSTANCE: ReadonlySet<string> = new Set(['table', 'pre', 'blockquote', 'ul', 'ol', 'math'])
const KEPT: ReadonlySet<string> = new Set(['img', 'picture', 'source'])

const isHeading = (node: ChildNode): boolean => isTag(node) && HEADING.test(node.name)

function contains(node: ParentNode, names: ReadonlySet<string>): boolean {
  return node.children.some(
    (child) => isTag(child) && (names.has(child.name) || contains(child, names)),
  )
}

/** Removes all text below, and keeps the pictures. */
function silence(root: ParentNode): void {
  root.children = root.children.filter((child) => isTag(child))
  for (const child of root.children) if (hasChildren(child)) silence(child)
}

function isBare(node: ChildNode): boolean {
  if (isText(node)) return node.data.trim() === ''
  if (!isTag(node)) return true
  return (
    !KEPT.has(node.name) && node.name !== 'br' && node.name !== 'hr' && node.children.every(isBare)
  )
}

/** A block without blocks of its own. */
const isLeaf = (element: Element): boolean =>
  !INLINE.has(element.name) &&
  element.children.every((child) => !isTag(child) || INLINE.has(child.name))

/** Share of the text that lies within links. */
const linkShare = (measures: Measures, element: Element): number => {
  const { text, linked } = measureOf(measures, element)
  return text === 0 ? 0 : linked / text
}

const PARAGRAPHS: ReadonlySet<string> = new Set(['p', 'div'])
const LISTS: ReadonlySet<string> = new Set(['ul', 'ol', 'dl'])
/** A teaser says no more than this of the page that it leads to, outside its link. */
const TEASER_MAX = 240

/** An invitation to another page: a heading that is a link, with a few words around it. */
function isTeaser(element: Element, measures: Measures): boolean {
  const { text, linked, prose } = measureOf(measures, element)
  if (element.name === 'p' || text - linked > TEASER_MAX || prose > TEASER_MAX) return false
  const headings = headingsOf(element)
  return (
    headings.length > 0 &&
    linked > 0 &&
    (element.name === 'article' || text > linked * 1.01) &&
    headings.every((each) => linkShare(measures, each) > 0.9)
  )
}

const headingsOf = (root: ParentNode): Element[] =>
  root.children.flatMap((child) =>
    !isTag(child) ? [] : HEADING.test(child.name) ? [child] : headingsOf(child),
  )

function isUnwanted(element: Element, measures: Measures, title: string): boolean {
  const { text, prose } = measureOf(measures, element)
  if (text === 0) return false
  const share = linkShare(measures, element)
  if (HEADING.test(element.name)) {
    const words = squeeze(textOf(element))
    return words === title || isAside(words, share)
  }
  if (LISTS.has(element.name) && prose === 0 && share > 0.7) return true
  if (element.name === 'article' && isTeaser(element, measures)) return true
  if (!isLeaf(element)) return false
  if (element.name === 'p' && share > 0.9 && text > 12) return true
  const words = squeeze(textOf(element))
  if (PARAGRAPHS.has(element.name) && dateOf(words) !== undefined) return true
  return isAside(words, share)
}

/** Whether an inline element is a line of its own. */
const stands = ({ parent }: Element): boolean =>
  parent !== null && isTag(parent) && !INLINE.has(parent.name) && !isLeaf(parent)

const textBefore = (children: readonly ChildNode[], at: number): ChildNode | undefined =>
  children.slice(0, at).findLast((child) => !isText(child) || child.data.trim() !== '')

/** A heading, or a line such as `More:`, that only leads over to what follows it. */
const leadsOver = (node: ChildNode | undefined): node is Element =>
  node !== undefined &&
  isTag(node) &&
  (HEADING.test(node.name) || (isLeaf(node) && /^.{1,60}:$/u.test(squeeze(textOf(node)))))

/** Removes the unwanted, each with the heading that leads over to it. */
function removeUnwanted(root: ParentNode, measures: Measures, title: string): void {
  const gone = new Set<ChildNode>()
  root.children.forEach((child, at) => {
    if (!isTag(child) || !isUnwanted(child, measures, title)) return
    gone.add(child)
    const before = textBefore(root.children, at)
    if (LISTS.has(child.name) && leadsOver(before)) gone.add(before)
  })
  root.children = root.children.filter((child) => !gone.has(child))
  for (const child of root.children) if (isTag(child)) removeUnwanted(child, measures, title)
}

/**
 * Removes from the body of an article what does not belong to its text: captions, dates, lists of
 * other articles, invitations to read, share or subscribe, and headings that nothing follows.
 */
export function trim(root: ParentNode, title: string): void {
  const measures = measure(root)
  const whole = measures.get(root)?.prose ?? 0
  removeAll(root, (node) => {
    if (!isTag(node)) return false
    const { prose } = measureOf(measures, node)
    if (node.name === 'time' && stands(node)) return true
    if (node.name === 'figcaption' && prose < CAPTION_MAX) return true
    if (node.name === 'form' && prose < 0.3 * whole) return true
    if (node.name === 'figure' && prose < CAPTION_MAX && !contains(node, SUBSTANCE)) silence(node)
    if (prose < Math.min(0.3 * whole, CAPTION_MAX) && isFurniture(node)) silence(node)
    return false
  })
  removeUnwanted(root, measures, title)
  removeBare(root)
  while (dropLastHeading(root)) removeBare(root)
}

function removeBare(root: ParentNode): void {
  for (const child of root.children) if (isTag(child)) removeBare(child)
  root.children = root.children.filter((child) => isText(child) || !isBare(child))
}

/** Removes the last block when it is a heading. */
function dropLastHeading(root: ParentNode): boolean {
  const last = root.children.findLast((child) => !isText(child) || child.data.trim() !== '')
  if (!last || !isTag(last)) return false
  if (!isHeading(last)) return dropLastHeading(last)
  root.children = root.children.filter((child) => child !== last)
  return true
}
