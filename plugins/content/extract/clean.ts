import { type ChildNode, type Element, isComment, isTag, type ParentNode } from 'domhandler'
import { type Measure, measure, measureOf } from './measure.ts'
import { isAlien, isForeign } from './names.ts'

/** Elements that show no text of the page, or only what a visitor may do there. */
const SILENT: ReadonlySet<string> = new Set(
  `script style noscript template link meta base svg canvas iframe frame frameset object embed
  applet audio video map input select textarea button datalist output progress meter dialog nav
  menu title head`.split(/\s+/),
)
const ROLES: ReadonlySet<string> = new Set(
  `navigation banner search complementary contentinfo dialog alertdialog menu menubar toolbar
  tablist tooltip`.split(/\s+/),
)
const HIDDEN = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i

/** Takes an element out of the tree; neighbours are not linked again, since nobody asks them. */
export function removeAll(root: ParentNode, unwanted: (node: ChildNode) => boolean): void {
  root.children = root.children.filter((child) => !unwanted(child))
  for (const child of root.children) if (isTag(child)) removeAll(child, unwanted)
}

/** With so much of the running text an element stays whatever it is called. */
const PROSE_SHARE = 0.4

const isHidden = ({ attribs }: Element): boolean =>
  'hidden' in attribs || HIDDEN.test(attribs['style'] ?? '')

/** Removes what is neither text nor image of the page. */
export function removeSilent(root: ParentNode): void {
  removeAll(root, (node) => isComment(node) || (isTag(node) && SILENT.has(node.name)))
}

/** A sentence of the article, set aside to catch the eye. */
const isPullQuote = ({ text, linked }: Measure): boolean => linked === 0 && text > 20 && text < 300

const isLandmark = ({ name, attribs }: Element): boolean =>
  name === 'h1' || name === 'main' || /\b(articleBody|headline)\b/.test(attribs['itemprop'] ?? '')

/** Elements within which an article begins. */
function around(root: ParentNode): Set<ParentNode> {
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

/**
 * Removes what by its name, role or kind stands around an article, unless it holds the headline, or
 * so much of the running text that it must be the article.
 */
export function removeForeign(root: ParentNode): void {
  const measures = measure(root)
  const kept = around(root)
  const whole = measures.get(root)?.prose ?? 0
  removeAll(root, (node) => {
    if (!isTag(node) || node.name === 'body' || kept.has(node)) return false
    if (isHidden(node) || isAlien(node)) return true
    const { prose } = measureOf(measures, node)
    if (prose > PROSE_SHARE * whole) return false
    return (
      (node.name === 'aside' && !isPullQuote(measureOf(measures, node))) ||
      node.name === 'footer' ||
      ROLES.has(node.attribs['role'] ?? '') ||
      (node.name !== 'article' && isForeign(node))
    )
  })
}
