import { DOCS } from '../web/areas.ts'
import { type Html, html } from '../web/html.ts'
import { CSP, layout } from '../web/layout.ts'

/**
 * A whole page of the documents, as an answer.
 * @param tab the one of them that it is, or belongs to
 */
export function docsPage(title: string, tab: string, main: Html) {
  const page = layout(
    { title, section: 'Docs', area: DOCS, tab, main: html`<h1>${title}</h1>${main}` },
    { sandbox: false },
  )
  return {
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': CSP },
    body: Buffer.from(page.text),
  }
}
