import { type ChildNode, type Element, isTag, type ParentNode, Text } from 'domhandler'
import { dateOf } from './dates.ts'
import { findElement } from './elements.ts'
import { isWhole, layoutNames, rememberNames } from './layout.ts'
import { collapseSpaces, type Measures, measureOf } from './measure.ts'
import { cardName, isWriterName, postExtraName } from './names.ts'
import { textOf } from './text.ts'

/** Properties of schema.org that count votes and replies. */
const COUNTS =
  /\b(?:interactionStatistic|userInteractionCount|(?:upvote|downvote|answer|comment)Count)\b/
/** Characters of prose from which an element is a post, whatever its name, and their share. */
const PROSE_MAX = { characters: 350, share: 0.3 } as const
/** Maximum characters of an author. */
const NAME_MAX = 60

const isCount = ({ attribs }: Element, prose: number): boolean =>
  prose === 0 && COUNTS.test(attribs['itemprop'] ?? '')

/** Returns true for an element that holds a name and little else. */
const isNamed = (element: Element): boolean => {
  const { length } = textOf(element)
  return length > 0 && length <= NAME_MAX
}

const isDeclaredName = (element: Element): boolean =>
  /\bname\b/.test(element.attribs['itemprop'] ?? '') && isNamed(element)

const isWriter = (element: Element): boolean => isWriterName(element) && isNamed(element)

const isTime = (element: Element): boolean =>
  element.name === 'time' ||
  dateOf(element.attribs['title']) !== undefined ||
  (element.children.every((child) => !isTag(child)) &&
    dateOf(collapseSpaces(textOf(element))) !== undefined)

const isNamedLink = (element: Element): boolean =>
  element.name === 'a' && isNamed(element) && !findElement(element, isTime)

const isCard = (element: Element): boolean => cardName(element) !== undefined

/** Returns the author of a post, as declared, by a class or else by the card's first link. */
function writerOf(element: Element): Element | undefined {
  const named = findElement(element, isDeclaredName) ?? findElement(element, isWriter)
  if (named) return named
  const card = isCard(element) ? element : findElement(element, isCard)
  return card && findElement(card, isNamedLink)
}

/**
 * Reduces what stands beside posts to their author and time: no cards,
 * signatures, ranks or votes.
 * @returns what is left of them, which is marginal
 */
export function reduceCards(root: ParentNode, measures: Measures): Set<ChildNode> {
  const nameOf = rememberNames((node) => cardName(node) ?? postExtraName(node))
  const layout = layoutNames(root, measures, nameOf)
  const whole = measures.get(root)?.prose ?? 0
  const most = Math.min(PROSE_MAX.share * whole, PROSE_MAX.characters)
  const reduced = new Set<ChildNode>()
  const walk = (node: ParentNode): void => {
    node.children = node.children.filter((child) => {
      if (!isTag(child) || isWhole(child)) return true
      const { prose } = measureOf(measures, child)
      if (isCount(child, prose)) return false
      const name = nameOf(child)
      if (name === undefined || layout.has(name) || prose >= most) {
        walk(child)
        return true
      }
      child.children = [writerOf(child), findElement(child, isTime)]
        .filter((part) => part !== undefined)
        .flatMap((part) => [part, new Text(' ')])
      reduced.add(child)
      return child.children.length > 0
    })
  }
  walk(root)
  return reduced
}
