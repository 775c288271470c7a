import { Readability } from '@mozilla/readability'
import { Defuddle } from 'defuddle/node'
import { JSDOM, VirtualConsole } from 'jsdom'
import { extract } from '../../../plugins/content/extract/index.ts'

/** Finds the article's plain text in a page, as a program would that uses the library. */
export type Extractor = (html: string, url: string) => Promise<string>

const pageOf = (html: string, url: string): JSDOM =>
  new JSDOM(html, { url, virtualConsole: new VirtualConsole() })

/** The text of an HTML fragment: a break at each end of a block, so that words do not merge. */
function textOf(fragment: string): string {
  const { document } = pageOf(`<body>${fragment}`, 'about:blank').window
  for (const block of document.querySelectorAll(
    'p,div,li,tr,td,th,h1,h2,h3,h4,h5,h6,blockquote,pre,figure,figcaption,section,dt,dd,br',
  )) {
    block.append('\n')
  }
  for (const silent of document.querySelectorAll('script,style,template')) silent.remove()
  return document.body.textContent ?? ''
}

export const EXTRACTORS: Readonly<Record<string, Extractor>> = {
  agenthub: async (html, url) => extract(html, url).text,
  readability: async (html, url) =>
    textOf(new Readability(pageOf(html, url).window.document).parse()?.content ?? ''),
  defuddle: async (html, url) =>
    textOf((await Defuddle(pageOf(html, url).window.document, url, { useAsync: false })).content),
}
