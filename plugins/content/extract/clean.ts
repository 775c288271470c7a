import { type ChildNode, type Element, isComment, isTag, type ParentNode } from 'domhandler'
import { type Measure, measure, measureOf } from './measure.ts'
import { isNeverArticle, isSurrounding } from './names.ts'

/** Elements without page text, or with controls only. */
const HIDDEN_ELEMENTS: ReadonlySet<string> = new Set(
  `script style noscript template link meta base svg canvas iframe frame frameset object embed
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

/** Share of the prose that protects an element from removal by name. */
const PROSE_SHARE = 0.4

const isHidden = ({ attribs }: Element): boolean =>
  'hidden' in attribs || HIDDEN.test(attribs['style'] ?? '')

/** Removes elements that are neither text nor image. */
export function removeHidden(root: ParentNode): void {
  removeAll(root, (node) => isComment(node) || (isTag(node) && HIDDEN_ELEMENTS.has(node.name)))
}

/** Returns true for a pull quote, which repeats a sentence of the article. */
const isPullQuote = ({ text, linked }: Measure): boolean => linked === 0 && text > 20 && text < 300

const isLandmark = ({ name, attribs }: Element): boolean =>
  name === 'h1' || name === 'main' || /\b(articleBody|headline)\b/.test(attribs['itemprop'] ?? '')

/** Elements that may contain the beginning of an article. */
function surroundings(root: ParentNode): Set<ParentNode> {
  const found = new Set<ParentNode>()
  const walk = (node: ParentNode): boolean => {
    let holds = isTag(node) && isLandmark(node)
    for (const child of node.children) if (isTag(child) && walk(child)) holds = true
    if (holds) found.add(node)
    return holds
  }
  walk(root)
  return found
}

/** Removes surroundings, unless they hold the headline or most of the prose. */
export function removeSurroundings(root: ParentNode): void {
  const measures = measure(root)
  const kept = surroundings(root)
  const whole = measures.get(root)?.prose ?? 0
  removeAll(root, (node) => {
    if (!isTag(node) || node.name === 'body' || kept.has(node)) return false
    if (isHidden(node) || isNeverArticle(node)) return true
    const { prose } = measureOf(measures, node)
    if (prose > PROSE_SHARE * whole) return false
    return (
      (node.name === 'aside' && !isPullQuote(measureOf(measures, node))) ||
      node.name === 'footer' ||
      ROLES.has(node.attribs['role'] ?? '') ||
      (node.name !== 'article' && isSurrounding(node))
    )
  })
}
