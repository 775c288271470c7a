import { ICON, STYLESHEET } from './assets.ts'
import { Html, html } from './html.ts'
import { MAIN_LINKS, type TabGroup } from './navigation.ts'

export interface PageContent {
  readonly title: string
  readonly main: Html
  /** For search engines and link previews. */
  readonly description?: string
  /** Current link of the main navigation. @defaultValue 'Account' on pages with tabs */
  readonly section?: string
  readonly tabs?: TabGroup
  /** Name of the current tab. @defaultValue the title */
  readonly tab?: string
  /** Paths of first-party scripts. */
  readonly scripts?: readonly string[]
  readonly status?: number
  /** Path of a public page without its query, for search engines and link previews. */
  readonly canonical?: string | undefined
}

/** Settings shared by all pages of this hub. */
export interface Site {
  readonly sandbox: boolean
  readonly baseUrl: () => string
}

/** Allows resources of this origin only, and no inline scripts or styles. */
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

const CURRENT_PAGE = new Html(' aria-current="page"')

const linkList = (links: Readonly<Record<string, string>>, current: string | undefined): Html =>
  html`<ul>${Object.entries(links).map(
    ([name, path]) =>
      html`<li><a href="${path}"${name === current && CURRENT_PAGE}>${name}</a></li>`,
  )}</ul>`

/** Canonical link and Open Graph tags. */
function previewTags({ title, description, canonical = '' }: PageContent, baseUrl: string): Html {
  const url = `${baseUrl}${canonical}`
  const properties = {
    'og:type': 'website',
    'og:site_name': 'AgentHub',
    'og:title': title,
    'og:description': description,
    'og:url': url,
    'og:image': `${baseUrl}/apple-touch-icon.png`,
  }
  return html`<link rel="canonical" href="${url}">${Object.entries(properties).map(
    ([name, value]) => value && html`<meta property="${name}" content="${value}">`,
  )}`
}

/** Complete HTML document of a page. */
export function layout(content: PageContent, site: Site): Html {
  const { title, main, description, tabs, tab = title, scripts = [] } = content
  const { section = tabs && 'Account' } = content
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title} · AgentHub</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">${
    description && html`<meta name="description" content="${description}">`
  }${content.canonical !== undefined && previewTags(content, site.baseUrl())}
<link rel="icon" href="${ICON}" type="image/svg+xml">
<link rel="apple-touch-icon" href="/apple-touch-icon.png">
<link rel="stylesheet" href="${STYLESHEET}">${scripts.map(
    (src) => html`<script src="${src}" type="module"></script>`,
  )}</head>
<body><a class="skip" href="#main">Skip to content</a>
<header class="header"><nav class="main-nav" aria-label="Main"><a class="brand" href="/">
<img src="${ICON}" width="24" height="24" alt="">AgentHub</a>${linkList(
    MAIN_LINKS,
    section,
  )}</nav></header>${
    site.sandbox &&
    html`<aside class="banner" aria-label="Sandbox"><p>This is a sandbox. It uses test money; real
wallets cannot pay here.</p></aside>`
  }
${
  tabs && html`<nav class="tabs" aria-label="${tabs.label}">${linkList(tabs.pages, tab)}</nav>`
}<main id="main">${main}</main>
<footer class="footer"><a href="/docs/agents">For agents</a>
<a href="/docs/providers">For providers</a><a href="/docs/finance">For finance</a>
<a href="/docs">API reference</a>
<a href="/docs/problems">Error codes</a>
<a href="/openapi.json">OpenAPI</a><a href="/llms.txt">llms.txt</a>
<a href="/.well-known/x402">x402</a></footer></body></html>`
}
