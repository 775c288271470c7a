import type { CheerioAPI } from 'cheerio/slim'
import { isTag, type ParentNode } from 'domhandler'
import { holdsAny, sumOfOutermost } from './elements.ts'
import { isWhole } from './layout.ts'
import { isLeaf, measure, measureOf } from './measure.ts'
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
  const textInTemplates = sumOfOutermost(body, (element) => {
    if (isWhole(element)) return 0
    if (!isLeaf(element)) return undefined
    const isTemplate = !holdsAny(element, CODE) && PLACEHOLDER.test(textOf(element))
    return isTemplate ? measureOf(measures, element).text : 0
  })
  return textInTemplates > TEMPLATE_SHARE * text
}
