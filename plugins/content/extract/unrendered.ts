import type { CheerioAPI } from 'cheerio/slim'
import { isTag, type ParentNode } from 'domhandler'
import { holdsAny } from './elements.ts'
import { isWhole } from './layout.ts'
import { isLeaf, type Measures, measure, measureOf } from './measure.ts'
import { textOf } from './text.ts'

/** Beginnings of placeholders for scripts: `{{name}}`, `${name}`, `$(name)`, `<% name`. */
const PLACEHOLDER = /\{\{|\$\{|\$\([a-z_]|<%/i
/** Elements in which placeholders are explained. */
const CODE: ReadonlySet<string> = new Set(['code', 'pre', 'kbd', 'samp'])
/** Share of the text in blocks with placeholders from which a page is a template. */
const TEMPLATE_SHARE = 0.5
/** Characters of prose and of unlinked text below which a page that needs JavaScript is empty. */
const PROSE_MIN = 150
const TEXT_MIN = 300

/** Elements that scripts of common frameworks fill. */
const MOUNTS = '#root, #app, #__next, #__nuxt, #___gatsby, #react-root, app-root'

/** Returns true if a page asks for JavaScript. Call it before anything is removed. */
export const asksForScript = ($: CheerioAPI): boolean =>
  $('noscript').text().toLowerCase().includes('javascript') ||
  $(MOUNTS)
    .toArray()
    .some(({ children }) => !children.some(isTag))

/** Returns true if the text is a template, or too little on a page that asks for JavaScript. */
export function isUnrendered(body: ParentNode, asksForScript: boolean): boolean {
  const measures = measure(body)
  const { text, linked, prose } = measures.get(body)!
  if (asksForScript && prose < PROSE_MIN && text - linked < TEXT_MIN) return true
  return textInTemplates(body, measures) > TEMPLATE_SHARE * text
}

function textInTemplates(node: ParentNode, measures: Measures): number {
  return node.children.reduce((sum, child) => {
    if (!isTag(child) || isWhole(child)) return sum
    if (!isLeaf(child)) return sum + textInTemplates(child, measures)
    const isTemplate = !holdsAny(child, CODE) && PLACEHOLDER.test(textOf(child))
    return isTemplate ? sum + measureOf(measures, child).text : sum
  }, 0)
}
