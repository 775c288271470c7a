import type { CheerioAPI } from 'cheerio/slim'
import { type ChildNode, type Element, isComment, isTag, type ParentNode } from 'domhandler'

/** Parts of a page that React sends after it, to be placed by a script: `<div hidden id="S:3">`. */
const PARTS = 'div[hidden][id^="S:"]'
/** Maximum depth of a place that is filled, which bounds the depth of the tree. */
const DEPTH_MAX = 200

/**
 * Puts parts that were streamed after the page into their places, `<template id="B:3">`, instead of
 * what is shown until they arrive. Call it before hidden elements are removed.
 */
export function placeStreamedParts(root: ParentNode, $: CheerioAPI): void {
  const parts = new Map<string, Element>()
  for (const part of $(PARTS).toArray()) parts.set(part.attribs['id']!.slice(2), part)
  if (parts.size === 0) return
  const waiting = new Set(parts.values())

  const take = ({ name, attribs }: Element): ChildNode[] | undefined => {
    const number = name === 'template' ? /^[BP]:(.+)/.exec(attribs['id'] ?? '')?.[1] : undefined
    const part = number === undefined ? undefined : parts.get(number)
    if (number === undefined || part === undefined) return undefined
    parts.delete(number)
    const { children } = part
    part.children = []
    return children
  }

  const fill = (node: ParentNode, depth: number): void => {
    const filled: ChildNode[] = []
    const pending = node.children.toReversed()
    for (let child = pending.pop(); child !== undefined; child = pending.pop()) {
      const part = isTag(child) ? take(child) : undefined
      if (part === undefined) {
        child.parent = node
        filled.push(child)
        continue
      }
      if (isMark(filled.at(-1), '$?')) {
        while (pending.length > 0 && !isMark(pending.at(-1), '/$')) pending.pop()
      }
      for (const each of part.toReversed()) pending.push(each)
    }
    node.children = filled
    for (const child of filled) {
      if (isTag(child) && !waiting.has(child) && depth < DEPTH_MAX) fill(child, depth + 1)
    }
  }
  fill(root, 0)
}

/** Returns true for a comment by which React marks the ends of what is shown meanwhile. */
const isMark = (node: ChildNode | undefined, mark: string): boolean =>
  node !== undefined && isComment(node) && node.data === mark
