import type { Area } from './areas.ts'
import { ICON, STYLE } from './assets.ts'
import { Html, html } from './html.ts'

/** A page, and what its head says of it. */
export interface PageText {
  readonly title: string
  readonly main: Html
  /** For search engines and previews. */
  readonly description?: string
  /** The part of the site that it belongs to, as the navigation has it. */
  readonly section?: string
  /** The pages that it belongs to, and which of them it is. */
  readonly area?: Area
  readonly tab?: string
  /** Our own scripts, by address. */
  readonly scripts?: readonly string[]
  readonly status?: number
}

/** What all pages of this hub have in common. */
export interface Site {
  readonly sandbox: boolean
}

/** The page asks nobody but the hub for anything, and runs nothing that stands in it. */
export const CSP = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const SECTIONS = [
  ['Search', '/search'],
  ['Services', '/services'],
  ['Status', '/status'],
  ['Docs', '/docs'],
  ['Account', '/account'],
] as const

/** The navigation of an area: the pages beside this one. */
const tabsOf = ({ area, tab }: PageText): Html | undefined =>
  area &&
  html`<nav class="tabs" aria-label="${area.label}"><ul>${Object.entries(area.pages).map(
    ([name, path]) => html`<li><a href="${path}"${name === tab && CURRENT}>${name}</a></li>`,
  )}</ul></nav>`

const CURRENT = new Html(' aria-current="page"')

/** The whole of a page. */
export function layout(text: PageText, site: Site): Html {
  const { title, main, description, section = text.area && 'Account', scripts = [] } = text
  const links = SECTIONS.map(
    ([name, path]) => html`<li><a href="${path}"${name === section && CURRENT}>${name}</a></li>`,
  )
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title} · AgentHub</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">${
    description && html`<meta name="description" content="${description}">`
  }
<link rel="icon" href="${ICON}" type="image/svg+xml">
<link rel="stylesheet" href="${STYLE}">${scripts.map(
    (src) => html`<script src="${src}" type="module"></script>`,
  )}</head>
<body><a class="skip" href="#main">Skip to the content</a>
<header class="top"><nav class="bar" aria-label="Main"><a class="brand" href="/">
<img src="${ICON}" width="24" height="24" alt="">AgentHub</a><ul>${links}</ul></nav></header>${
    site.sandbox &&
    html`<aside class="note" aria-label="Sandbox"><p>This is a sandbox: money is test money, and
nothing here can be paid with a real wallet.</p></aside>`
  }
${tabsOf(text)}<main id="main">${main}</main>
<footer class="foot"><a href="/docs/agents">For agents</a>
<a href="/docs/providers">For providers</a><a href="/docs/finance">For finance</a>
<a href="/docs">API reference</a>
<a href="/docs/problems">Error codes</a>
<a href="/openapi.json">OpenAPI</a><a href="/llms.txt">llms.txt</a>
<a href="/.well-known/x402">x402</a></footer></body></html>`
}
