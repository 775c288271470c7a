import type { ChildNode, Document, Element } from 'domhandler'
import { DomUtils } from 'htmlparser2'

/** Names and values of a notice; several facts may have one name. */
export type NamedFacts = readonly (readonly [name: string, value: string])[]

export const tagsOf = (node: Document | Element): Element[] =>
  node.children.filter((child: ChildNode): child is Element => DomUtils.isTag(child))

/** Elements at a path of qualified names. */
export const all = (node: Element, path: string): Element[] =>
  path
    .split('/')
    .reduce<Element[]>(
      (found, name) => found.flatMap((each) => tagsOf(each).filter((tag) => tag.name === name)),
      [node],
    )

export const deep = (node: Element, name: string): Element[] =>
  DomUtils.getElementsByTagName(name, node, true)

export const squash = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim()
export const textOf = (node: Element): string => squash(DomUtils.textContent(node))
export const texts = (node: Element, path: string): string[] => all(node, path).map(textOf)
export const one = (node: Element, path: string): string => texts(node, path)[0] ?? ''
export const distinct = (values: readonly string[]): string[] => [...new Set(values)]
export const named = (name: string, values: readonly string[]): NamedFacts =>
  distinct(values.filter((value) => value !== '')).map((value) => [name, value] as const)

/** `00657639-2023` as `657639-2023`. */
export const plainNumber = (text: string): string => text.replace(/^0+/, '')

/** An amount such as `EUR 1250.5`; `withheld` if it is masked. */
export function money(node: Element | undefined): string {
  if (!node) return ''
  const currency = node.attribs['currencyID'] ?? node.attribs['CURRENCY'] ?? ''
  const amount = Number(textOf(node).replaceAll(' ', ''))
  if (currency === 'unpublished' || amount < 0) return 'withheld'
  return Number.isNaN(amount) || textOf(node) === '' ? '' : `${currency} ${amount}`
}

export const iso = (instant: string): string => new Date(instant).toISOString()

const START = 40
/** Beginning of a text, before what is removed from it. */
export const startText = (text: string): string => (text.split(/[@+\d]/u)[0] ?? '').slice(0, START)
