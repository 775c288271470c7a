import { type Element, isTag, type ParentNode } from 'domhandler'
import { elementAfter, elementBefore, findElement, isHeading } from './elements.ts'

const SOCIAL: ReadonlySet<string> = new Set(
  `facebook twitter x linkedin pinterest reddit whatsapp t tumblr instagram youtube threads bsky
  tiktok telegram`.split(/\s+/),
)

const linksIn = (node: ParentNode): Element[] =>
  node.children.flatMap((child) => {
    if (!isTag(child)) return []
    return child.name === 'a' ? [child] : linksIn(child)
  })

/** Returns the last two labels of a host, in most cases its registered domain. */
const siteOf = (host: string): string => host.split('.').slice(-2).join('.')

function isOutside({ attribs }: Element, host: string): boolean {
  const url = URL.parse(attribs['href'] ?? '')
  if (url === null || !/^https?:$/.test(url.protocol)) return false
  const site = siteOf(url.hostname)
  return (
    site !== siteOf(host) &&
    !SOCIAL.has(site.split('.')[0]!) &&
    !/\bsponsored\b/.test(attribs['rel'] ?? '')
  )
}

/** Returns true if most links lead to other sites, as in lists that an author made. */
export function leadsOutside(element: Element, host: string): boolean {
  const links = linksIn(element)
  return links.filter((link) => isOutside(link, host)).length > links.length / 2
}

/** Returns true if all links lead to networks, as in a row of links to share a page. */
export function leadsToNetworks(element: Element): boolean {
  const links = linksIn(element)
  return links.length > 0 && links.every(isShareLink)
}

function isShareLink({ attribs }: Element): boolean {
  const url = URL.parse(attribs['href'] ?? '')
  return url !== null && SOCIAL.has(siteOf(url.hostname).split('.')[0]!)
}

const isLink = (node: ParentNode | null): boolean =>
  node !== null && isTag(node) && node.name === 'a'

/** Returns true for one of several articles whose headings are links: they stand elsewhere. */
export function isListedArticle(element: Element): boolean {
  if (element.name !== 'article' && element.attribs['role'] !== 'article') return false
  const beside = [elementBefore(element), elementAfter(element)]
  if (!beside.some((each) => each?.name === element.name)) return false
  const heading = findElement(element, isHeading)
  return (
    heading !== undefined &&
    heading.name !== 'h1' &&
    (isLink(heading.parent) || heading.children.some((child) => isTag(child) && isLink(child)))
  )
}
