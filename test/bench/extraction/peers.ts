import { Readability } from '@mozilla/readability'
import { Defuddle } from 'defuddle/node'
import { parseHTML } from 'linkedom'
import { extract } from '../../../plugins/content/extract/extract.ts'

/** Extracts the article's plain text from a page, as a program using the library would. */
export type Extractor = (html: string, url: string) => Promise<string>

const BLOCKS = `p, div, li, tr, td, th, h1, h2, h3, h4, h5, h6, blockquote, pre, figure, figcaption,
  section, dt, dd, br`

/** Document members that both libraries use; linkedom's types follow those of browsers. */
type PageDocument = ConstructorParameters<typeof Readability>[0]

const documentOf = (html: string): PageDocument =>
  (parseHTML(html) as unknown as { readonly document: PageDocument }).document

/**
 * Returns the text of an HTML fragment, with a line break after each block so that words do not
 * merge.
 */
function textOf(fragment: string): string {
  const document = documentOf(`<html><body>${fragment}</body></html>`)
  for (const silent of document.querySelectorAll('script, style, template')) silent.remove()
  for (const block of document.querySelectorAll(BLOCKS)) block.after('\n')
  return document.body.textContent ?? ''
}

/** Both peers run on linkedom, which defuddle's manual recommends and users of readability use. */
export const EXTRACTORS: Readonly<Record<string, Extractor>> = {
  agenthub: async (html, url) => extract(html, url).text,
  readability: async (html) => textOf(new Readability(documentOf(html)).parse()?.content ?? ''),
  defuddle: async (html, url) =>
    textOf((await Defuddle(documentOf(html), url, { useAsync: false })).content),
}
