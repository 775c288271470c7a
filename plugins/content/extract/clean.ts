import { type ChildNode, type Element, isComment, isTag, type ParentNode } from 'domhandler'
import { alertOf } from './admonitions.ts'
import { elementBefore, findElement, isHeading, sumOfOutermost } from './elements.ts'
import type { Kind } from './kind.ts'
import {
  HIDDEN_NAME,
  HIDDEN_SHARE,
  isComments,
  isWhole,
  layoutNames,
  rememberNames,
} from './layout.ts'
import { INLINE, type Measure, type Measures, measure, measureOf } from './measure.ts'
import {
  aroundProductName,
  isAnchorName,
  isCollapsible,
  isControlName,
  isToolName,
  removableName,
  surroundingName,
} from './names.ts'
import { textOf } from './text.ts'

/** Elements without page text, or with controls only. */
const HIDDEN_ELEMENTS: ReadonlySet<string> = new Set(
  `script style template link meta base svg canvas iframe frame frameset object embed
  applet audio video map input select textarea button datalist output progress meter dialog nav
  menu title head`.split(/\s+/),
)
const ROLES: ReadonlySet<string> = new Set(
  `navigation banner search complementary contentinfo dialog alertdialog menu menubar toolbar
  tablist tooltip`.split(/\s+/),
)
const HIDDEN = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i

/** Removes elements from the tree without relinking siblings, which are never read. */
export function removeAll(root: ParentNode, unwanted: (node: ChildNode) => boolean): void {
  root.children = root.children.filter((child) => !unwanted(child))
  for (const child of root.children) if (isTag(child)) removeAll(child, unwanted)
}

/** Removes elements as {@link removeAll}, but nothing inside quotes, code, formulas and tables. */
export function removeAround(root: ParentNode, unwanted: (node: ChildNode) => boolean): void {
  root.children = root.children.filter((child) => !unwanted(child))
  for (const child of root.children)
    if (isTag(child) && !isWhole(child)) removeAround(child, unwanted)
}

/** Share of the text of a chapter from which its table of contents is its text. */
const CONTENTS_SHARE = 0.5
/** Maximum depth of the heading of a chapter within its title page. */
const HEADING_DEPTH = 5

/** Share of the prose that protects an element from removal by name. */
const PROSE_SHARE = 0.4

/** Maximum depth of a button within the heading of what it opens. */
const BUTTON_DEPTH = 3

const isButton = ({ attribs }: Element): boolean => 'aria-expanded' in attribs

const hasButton = (element: Element | undefined): boolean =>
  element !== undefined &&
  (isButton(element) || findElement(element, isButton, BUTTON_DEPTH) !== undefined)

/** Returns true for what is not shown, unless it opens when its heading is pressed. */
const isHidden = (element: Element): boolean => {
  const { attribs, parent } = element
  if (!('hidden' in attribs) && !HIDDEN.test(attribs['style'] ?? '')) return false
  return (
    attribs['role'] !== 'tabpanel' &&
    !hasButton(elementBefore(element)) &&
    !isCollapsible(element) &&
    !(parent !== null && isTag(parent) && isCollapsible(parent))
  )
}

/** Returns true for what covers the page until it is closed. */
const isModal = ({ attribs }: Element): boolean => attribs['aria-modal'] === 'true'

const isNoscript = (node: ChildNode): boolean => isTag(node) && node.name === 'noscript'

const MARKS = /^[^\p{L}\p{N}]+$/u
const ANCHOR_LABEL = /^(?:permalink|permanent link|direct link|link to|anchor|copy link|edit)\b/i

/** Returns true for the anchor of a heading, a link to edit a section, and numbers of lines. */
function isTool(element: Element): boolean {
  if (isToolName(element)) return true
  const { name, attribs } = element
  const isAnchor = isAnchorName(element)
  if (!isAnchor && !(name === 'a' && attribs['href']?.includes('#'))) return false
  const text = textOf(element)
  return MARKS.test(text) || (isAnchor && ANCHOR_LABEL.test(text))
}

/** Elements that open when pressed: their names are about that, not about their text. */
const DISCLOSURES: ReadonlySet<string> = new Set(['details', 'summary'])
/** Minimum characters of a button that is the heading of what it opens. */
const BUTTON_MIN = 12

/** Returns true for a button that is a heading, as those of questions that open their answers. */
const isHeadingButton = (element: Element): boolean =>
  element.name === 'button' &&
  ('aria-expanded' in element.attribs ||
    'aria-controls' in element.attribs ||
    isInHeading(element, HEADING_DEPTH)) &&
  textOf(element).length >= BUTTON_MIN

/** Returns true for a link that is a heading's, as to its line in the table of contents. */
const isHeadingLink = ({ name, parent }: Element): boolean =>
  name === 'a' && parent !== null && isHeading(parent)

/** Names of cards that open over a word, or of both. */
const CARDS: ReadonlySet<string> = new Set([
  'tooltip',
  'tool tip',
  'hovercard',
  'hover card',
  'popover',
])

const isCard = (element: Element): boolean => CARDS.has(surroundingName(element) ?? '')

/** Returns true for a word of a sentence with the card that opens over it: only the card goes. */
const isCardedWord = (element: Element): boolean =>
  INLINE.has(element.name) && isCard(element) && findElement(element, isCard) !== undefined

const isInHeading = ({ parent }: Element, depth: number): boolean =>
  parent !== null &&
  isTag(parent) &&
  (isHeading(parent) || (depth > 0 && isInHeading(parent, depth - 1)))

/** Removes elements that are neither text nor image, and `noscript` unless it holds most prose. */
export function removeHidden(root: ParentNode): void {
  removeAll(
    root,
    (node) =>
      isComment(node) ||
      (isTag(node) &&
        ((HIDDEN_ELEMENTS.has(node.name) && !isHeadingButton(node)) ||
          isModal(node) ||
          isTool(node))),
  )
  const measures = measure(root)
  const whole = measures.get(root)?.prose ?? 0
  removeAll(root, (node) => isTag(node) && isNoscript(node) && proseIn(measures, node) <= whole / 2)
}

const proseIn = (measures: Measures, element: Element): number => measureOf(measures, element).prose

/** Characters of prose from which an element is no control, whatever its name. */
const TEXT_MIN = 150

const isUnlinkedProse = ({ text, linked, prose }: Measure): boolean =>
  prose >= TEXT_MIN && prose > text / 2 && linked < text / 10

/** Returns true for a box about a person, such as the author. */
const isPerson = ({ attribs }: Element): boolean =>
  /\bauthor\b/.test(attribs['itemprop'] ?? '') || (attribs['itemtype'] ?? '').endsWith('/Person')

/** Returns true for the answer to a question, as schema.org marks it. */
const isAnswer = ({ attribs }: Element): boolean => (attribs['itemtype'] ?? '').endsWith('/Answer')

/** Returns true for a table of contents that is most of what stands under the heading beside it. */
function isOwnContents(element: Element, measures: Measures): boolean {
  const { parent } = element
  if (!parent || !isTag(parent) || !/\btoc\b/.test(element.attribs['class'] ?? '')) return false
  if (isOwnContents(parent, measures)) return true
  const share = measureOf(measures, element).text / (measureOf(measures, parent).text || 1)
  return share >= CONTENTS_SHARE && holdsHeading(elementBefore(element))
}

const holdsHeading = (element: Element | undefined): boolean =>
  element !== undefined &&
  (isHeading(element) || findElement(element, isHeading, HEADING_DEPTH) !== undefined)

const isLandmark = ({ name, attribs }: Element): boolean =>
  name === 'h1' || name === 'main' || /\b(articleBody|headline)\b/.test(attribs['itemprop'] ?? '')

/** Returns true for a breadcrumb trail, whose last step may be marked as a headline. */
const isTrail = (node: ParentNode, measures: Measures): boolean =>
  isTag(node) && surroundingName(node) === 'breadcrumb' && proseIn(measures, node) === 0

/** Elements that may contain the beginning of an article. */
function surroundings(root: ParentNode, measures: Measures): Set<ParentNode> {
  const found = new Set<ParentNode>()
  const walk = (node: ParentNode): boolean => {
    if (isTrail(node, measures)) return false
    let holds = isTag(node) && isLandmark(node)
    for (const child of node.children) if (isTag(child) && walk(child)) holds = true
    if (holds) found.add(node)
    return holds
  }
  walk(root)
  return found
}

/** Minimum prose of a description of a product. */
const DESCRIPTION_MIN = 150

/** Removes what surrounds a product's description, unless hardly any prose would remain. */
function removeAroundProduct(root: ParentNode): void {
  const measures = measure(root)
  const kept = surroundings(root, measures)
  const isAround = (node: Element): boolean =>
    node.name !== 'body' &&
    !kept.has(node) &&
    (node.name === 'footer' || aroundProductName(node) !== undefined)
  const prose = sumOfOutermost(root, (node) =>
    isAround(node) ? proseIn(measures, node) : undefined,
  )
  const whole = measures.get(root)?.prose ?? 0
  if (whole - prose >= DESCRIPTION_MIN) removeAll(root, (node) => isTag(node) && isAround(node))
}

/**
 * Removes surroundings, unless they hold the headline or most of the prose. Comments are the
 * content of a forum, unless its posts are questions and answers.
 */
export function removeSurroundings(root: ParentNode, kind: Kind): void {
  if (kind === 'product') removeAroundProduct(root)
  const measures = measure(root)
  const kept = surroundings(root, measures)
  const whole = measures.get(root)?.prose ?? 0
  const keepsComments = kind === 'forum' && !findElement(root, isAnswer)
  const nameOf = rememberNames((node) => {
    if (isHidden(node)) return HIDDEN_NAME
    if (kind !== 'forum' && isPerson(node)) return 'person'
    if (node.name === 'body' || kept.has(node)) return undefined
    if (node.name === 'footer') return 'footer'
    if (DISCLOSURES.has(node.name) || isHeading(node) || isHeadingLink(node)) return undefined
    if (isCardedWord(node)) return undefined
    const name = removableName(node)
    if (kind === 'documentation' && isOwnContents(node, measures)) return undefined
    if (name !== undefined || node.name === 'article') return name
    if (proseIn(measures, node) > PROSE_SHARE * whole) return undefined
    const surrounding = surroundingName(node)
    const isText = isControlName(surrounding) && isUnlinkedProse(measureOf(measures, node))
    return isText ? undefined : surrounding
  })
  const layout = layoutNames(root, measures, nameOf)
  removeAround(root, (node) => {
    if (!isTag(node)) return false
    const name = nameOf(node)
    const { prose, text, linked } = measureOf(measures, node)
    if (isWhole(node)) return isHidden(node) && prose <= HIDDEN_SHARE * whole
    if (name !== undefined && !(keepsComments && isComments(name))) {
      return !layout.has(name) || (prose === 0 && linked * 2 > text)
    }
    if (node.name === 'body' || kept.has(node) || prose > PROSE_SHARE * whole) return false
    return (
      (node.name === 'aside' && !alertOf(node)) ||
      node.name === 'footer' ||
      ROLES.has(node.attribs['role'] ?? '')
    )
  })
}
