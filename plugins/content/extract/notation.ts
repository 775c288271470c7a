import type { CheerioAPI } from 'cheerio/slim'
import { type ChildNode, Element, isTag, type ParentNode, Text } from 'domhandler'
import { MathMLToLaTeX } from 'mathml-to-latex'
import { collapseSpaces } from './measure.ts'
import { textOf } from './text.ts'

/** Elements in which a library shows a formula beside its source. */
const RENDERED = /(?:^| )(?:katex(?:-display)?|mwe-math-element|MathJax(?:_\w+)?)(?: |$)/
/** Elements with the TeX source of a formula that MathJax shows beside them. */
const SOURCE = 'script[type^="math/tex"]'
/** Maximum characters of MathML without TeX that is converted. */
const MATHML_MAX = 20_000
/** MediaWiki's wrapper of all formulas. */
const STYLED = /^\{\\(?:display|text)style\b([\s\S]*)\}$/

/**
 * Replaces formulas by `math` elements with their TeX between dollars, and puts the readings of
 * ruby text in parentheses. Call it before scripts and hidden elements are removed.
 */
export function normalizeNotation(root: ParentNode, $: CheerioAPI): void {
  const hasSources = $(SOURCE).length > 0
  const walk = (node: ParentNode, isInRendered: boolean): void => {
    node.children = node.children.flatMap((child) => {
      if (!isTag(child)) return [child]
      const isRendered = !isInRendered && isRenderedFormula(child)
      const replacement = isRendered
        ? renderedFormula(child, hasSources, $)
        : replacementOf(child, $)
      if (replacement === undefined) walk(child, isInRendered || isRendered)
      return replacement ?? [child]
    })
    for (const child of node.children) child.parent = node
  }
  walk(root, false)
}

const isRenderedFormula = ({ name, attribs }: Element): boolean =>
  name === 'mjx-container' || RENDERED.test(attribs['class'] ?? '')

/** Undefined if the element stays. */
function replacementOf(element: Element, $: CheerioAPI): ChildNode[] | undefined {
  const { name, attribs } = element
  if (name === 'script' && attribs['type']?.startsWith('math/tex')) {
    return formula($(element).text(), attribs['type'].includes('display'))
  }
  if (name === 'rp') return []
  if (name === 'rt') return [new Text('('), ...element.children, new Text(')')]
  if (name === 'math') return formula(texOf(element, $), attribs['display'] === 'block')
  return undefined
}

/** Undefined if the element does not hold the source of one formula. */
function renderedFormula(
  element: Element,
  hasSources: boolean,
  $: CheerioAPI,
): ChildNode[] | undefined {
  const { attribs } = element
  const names = attribs['class'] ?? ''
  if (hasSources && names.includes('MathJax')) return []
  const [math, ...others] = $(element).find('math').toArray()
  if (!math || others.length > 0) return undefined
  const isBlock =
    attribs['display'] === 'true' || math.attribs['display'] === 'block' || /display/i.test(names)
  return formula(texOf(math, $), isBlock)
}

function formula(tex: string, isBlock: boolean): ChildNode[] {
  const source = collapseSpaces(tex)
  const mark = isBlock ? '$$' : '$'
  return source === '' ? [] : [new Element('math', {}, [new Text(mark + source + mark)])]
}

/** Returns the TeX that a formula declares, or converts its MathML. */
function texOf(math: Element, $: CheerioAPI): string {
  const declared =
    $(math).find('annotation[encoding="application/x-tex"]').first().text() ||
    math.attribs['alttext'] ||
    ''
  const tex = declared.trim()
  if (tex !== '') return STYLED.exec(tex)?.[1] ?? tex
  const markup = $.xml(math)
  try {
    return markup.length > MATHML_MAX ? textOf(math) : MathMLToLaTeX.convert(markup)
  } catch {
    return textOf(math)
  }
}
