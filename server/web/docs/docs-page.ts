import { type Html, html } from '../html.ts'
import { CSP, layout } from '../layout.ts'
import { DOCS_TABS } from '../navigation.ts'

/** Builds the reply of a documentation page. @param tab title of the active tab */
export function docsPage(title: string, tab: string, main: Html) {
  const page = layout(
    { title, section: 'Docs', tabs: DOCS_TABS, tab, main: html`<h1>${title}</h1>${main}` },
    { sandbox: false, baseUrl: () => '' },
  )
  return {
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': CSP },
    body: Buffer.from(page.text),
  }
}

export const code = (text: string): Html => html`<pre tabindex="0"><code>${text}</code></pre>`

/** Explains how a sandbox reaches a server on the same machine. @param path of the example URL */
export const localServerHint = (path: string): Html =>
  html`<h2>On your own machine</h2><p>The hub only calls public addresses, not
<code>localhost</code> or <code>127.0.0.1</code>. In a sandbox, map a name to a local server: start
it with <code>HUB_SANDBOX_HOSTS=me.test=127.0.0.1:4701 npm start</code> and use
<code>http://me.test${path}</code> as the address.</p>`
