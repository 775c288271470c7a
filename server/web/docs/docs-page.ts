import { type Html, html } from '../html.ts'
import { CSP, layout } from '../layout.ts'
import { DOCS_TABS } from '../navigation.ts'

/**
 * A whole page of the documents, as an answer.
 * @param tab the one of them that it is, or belongs to
 */
export function docsPage(title: string, tab: string, main: Html) {
  const page = layout(
    { title, section: 'Docs', tabs: DOCS_TABS, tab, main: html`<h1>${title}</h1>${main}` },
    { sandbox: false },
  )
  return {
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': CSP },
    body: Buffer.from(page.text),
  }
}

/** What is to be typed, or read as it stands. */
export const code = (text: string): Html => html`<pre tabindex="0"><code>${text}</code></pre>`

/** How a sandbox reaches a server on its own machine, which no hub does by itself. */
export const localServerHint = (path: string): Html =>
  html`<h2>On your own machine</h2><p>The hub asks public addresses alone: not
<code>localhost</code>, not <code>127.0.0.1</code>. A sandbox knows names for them: start it by
<code>HUB_SANDBOX_HOSTS=me.test=127.0.0.1:4701 npm start</code>, and give
<code>http://me.test${path}</code> as the address.</p>`
