import { Html, html } from '../html.ts'
import { CSP, layout } from '../layout.ts'
import { DOCS_TABS } from '../navigation.ts'

/** Pages with fewer headings have no list of them. */
const HEADINGS_MIN = 3

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

/** Builds the reply of a guide: its headings have anchors, and a list of them leads to each. */
export function guidePage(title: string, tab: string, text: Html) {
  const main = withAnchors(text)
  const headings = sectionsOf(main).filter(({ id }) => id !== '')
  const reply = docsPage(
    title,
    tab,
    html`${docsForm()}<div class="guide"><div>${main}</div>${
      headings.length >= HEADINGS_MIN &&
      html`<nav class="on-page" aria-label="On this page"><ul>${headings.map(
        (each) => html`<li><a href="#${each.id}">${each.title}</a></li>`,
      )}</ul></nav>`
    }</div>`,
  )
  return { ...reply, guide: { title, main } }
}

export const docsForm = (query = ''): Html =>
  html`<form action="/docs/search" role="search" class="search-box"><input type="search" name="q"
value="${query}" aria-label="Search the documentation" placeholder="Search the documentation">
<button type="submit" class="plain">Search</button></form>`

const HEADING = '<h2'
const ID = ' id="'

/** Gives headings without an id one that is made of their words. */
function withAnchors({ text }: Html): Html {
  const ids = new Set<string>()
  const [intro = '', ...parts] = text.split(HEADING)
  const anchored = parts.map((part) => {
    if (!part.startsWith('>')) return `${HEADING}${part}`
    const words = plainText(part.slice(1, part.indexOf('</h2>')))
    const stem = words
      .toLowerCase()
      .split(/[^a-z0-9]+/i)
      .filter(Boolean)
      .join('-')
    const id = ids.has(stem) ? `${stem}-${ids.size}` : stem
    ids.add(id)
    return `${HEADING} id="${id}"${part}`
  })
  return new Html(intro + anchored.join(''))
}

/** Splits a page at its headings; the part before the first one has no id. */
export function sectionsOf({ text }: Html) {
  const [intro = '', ...parts] = text.split(HEADING)
  return [
    { id: '', title: '', text: plainText(intro) },
    ...parts.map((part) => {
      const id = part.startsWith(ID) ? part.slice(ID.length, part.indexOf('"', ID.length)) : ''
      const start = part.indexOf('>') + 1
      const end = part.indexOf('</h2>')
      return { id, title: plainText(part.slice(start, end)), text: plainText(part.slice(end)) }
    }),
  ]
}

const plainText = (markup: string): string =>
  markup
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/&#?\w{1,8};/g, (entity) =>
      entity.startsWith('&#') ? String.fromCodePoint(Number(entity.slice(2, -1))) : '&',
    )
    .replaceAll(/\s+/g, ' ')
    .trim()

export const code = (text: string): Html => html`<pre tabindex="0"><code>${text}</code></pre>`

/** Explains how a sandbox reaches a server on the same machine. @param path of the example URL */
export const localServerHint = (path: string): Html =>
  html`<h2>On your own machine</h2><p>The hub only calls public addresses, not
<code>localhost</code> or <code>127.0.0.1</code>. In a sandbox, map a name to a local server: start
it with <code>HUB_SANDBOX_HOSTS=me.test=127.0.0.1:4701 npm start</code> and use
<code>http://me.test${path}</code> as the address.</p>`
