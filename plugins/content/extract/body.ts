import { type Element, isTag, type ParentNode, Element as Tag } from 'domhandler'
import { INLINE, type Measures, measure, measureOf } from './measure.ts'
import { isBody } from './names.ts'

/** An element that holds so much of the running text of the one above it holds all of it. */
const NEARLY_ALL = 0.9
/** Of the text that is not linked. */
const HALF = 0.5
/** Shares of the running text from which an element is believed: the plainer its mark, the less. */
const SHARE = { articleBody: 0.2, main: 0.3, name: 0.45 }
/** A lead is part of the text when it is so long in proportion; a shorter one is a subtitle. */
const LEAD_SHARE = 0.15

const elementsOf = ({ children }: ParentNode): Element[] => children.filter((child) => isTag(child))

const isArticleBody = ({ attribs }: Element): boolean =>
  /\b(articleBody|text)\b/.test(attribs['itemprop'] ?? '')

const isMain = ({ name, attribs }: Element): boolean =>
  name === 'main' || name === 'article' || /^(main|article)$/.test(attribs['role'] ?? '')

/** Elements that hold a good part of what the richest of them holds. */
const GOOD_PART = 0.3

const isHeadline = ({ name, attribs }: Element): boolean =>
  name === 'h1' || /\bheadline\b/.test(attribs['itemprop'] ?? '')

/** The outermost of the wanted elements, and the headlines, in the order of the page. */
function landmarks(root: ParentNode, wanted: (element: Element) => boolean): Element[] {
  return elementsOf(root).flatMap((child) => {
    if (wanted(child)) return [child]
    return [...(isHeadline(child) ? [child] : []), ...landmarks(child, wanted)]
  })
}

/**
 * The wanted elements that together are one article: the first good ones up to the next headline,
 * since a page may go on with other articles.
 */
function articleOf(
  root: ParentNode,
  measures: Measures,
  wanted: (element: Element) => boolean,
  share: number,
): Element[] {
  const marks = landmarks(root, wanted)
  const proseOf = (element: Element): number => measureOf(measures, element).prose
  const found = marks.filter(wanted)
  const best = found.reduce((most, each) => Math.max(most, proseOf(each)), 0)
  const first = marks.findIndex(
    (mark) => wanted(mark) && best > 0 && proseOf(mark) >= GOOD_PART * best,
  )
  if (first < 0) return []
  const next = marks.findIndex((mark, at) => at > first && !wanted(mark))
  const article = marks.slice(first, next < 0 ? undefined : next)
  const whole = measures.get(root)?.prose ?? 0
  const all = found.reduce((sum, each) => sum + proseOf(each), 0)
  return all > share * whole ? article.filter((each) => proseOf(each) > 0) : []
}

const ancestorsOf = (node: ParentNode): ParentNode[] =>
  node.parent ? [node, ...ancestorsOf(node.parent)] : [node]

/** The lowest element above all of these. */
function common(elements: readonly Element[]): ParentNode | undefined {
  const [first, ...others] = elements.map(ancestorsOf)
  return first?.find((each) => others.every((path) => path.includes(each)))
}

/** An element that is one block of a text cannot be the whole of it. */
const isBlock = (element: Element): boolean =>
  /^(p|h[1-6]|li|ul|ol|dl|dt|dd|blockquote|pre|tr|tbody|figure)$/.test(element.name) ||
  !element.children.some((child) => isTag(child) && !INLINE.has(child.name))

/** Goes down as long as one child holds nearly all. */
function narrow(root: ParentNode, measures: Measures): ParentNode {
  const whole = measures.get(root)
  if (!whole || whole.prose === 0) return root
  const heir = elementsOf(root).find((child) => {
    const { prose, text, linked } = measureOf(measures, child)
    return prose >= NEARLY_ALL * whole.prose && text - linked >= HALF * (whole.text - whole.linked)
  })
  return heir && !isBlock(heir) ? narrow(heir, measures) : root
}

/** Adds what precedes the body within `main` and is long enough to be its first paragraph. */
function withLead(body: ParentNode, main: ParentNode, measures: Measures): ParentNode {
  const enough = LEAD_SHARE * (measures.get(body)?.prose ?? 0)
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

/** The smallest element that holds the article's text. */
export function bodyOf(root: ParentNode): ParentNode {
  const measures = measure(root)
  const main = common(articleOf(root, measures, isMain, SHARE.main)) ?? root
  const named =
    common(articleOf(main, measures, isArticleBody, SHARE.articleBody)) ??
    common(articleOf(main, measures, (each) => isBody(each), SHARE.name)) ??
    main
  return withLead(narrow(named, measures), main, measures)
}
