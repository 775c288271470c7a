import { COPY_SCRIPT, ICON, PALETTE_SCRIPT, STYLESHEET } from './assets.ts'
import { formatSecond } from './format.ts'
import { type Html, html } from './html.ts'
import type { TabGroup } from './navigation.ts'
import { footer, header, sidebar } from './shell.ts'
import type { Visitor } from './visitor.ts'

export interface PageContent {
  readonly title: string
  readonly main: Html
  /** For search engines and link previews. */
  readonly description?: string
  /** Current link of the main navigation. @defaultValue 'Account' on pages with a sidebar */
  readonly section?: string
  readonly tabs?: TabGroup
  /** Name of the current page in the sidebar. @defaultValue the title */
  readonly tab?: string
  /** Paths of first-party scripts, besides those of the palette and of copy buttons. */
  readonly scripts?: readonly string[]
  readonly status?: number
  /** Path of a public page without its query, for search engines and link previews. */
  readonly canonical?: string | undefined
  /** Instant as of which its data is complete; undefined: it is current. */
  readonly dataAsOf?: Date | undefined
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

const dataAgeLine = (asOf: Date): Html =>
  html`<p class="small muted">Data as of ${formatSecond(asOf)}.</p>`

/** Complete HTML document of a page. @param visitor undefined on public pages */
export function layout(content: PageContent, site: Site, visitor?: Visitor): Html {
  const { title, main, description, tabs, tab = title, scripts = [] } = content
  const { section = tabs && 'Account' } = content
  const hasSidebar = tabs !== undefined
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title} · AgentHub</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">${
    description && html`<meta name="description" content="${description}">`
  }${content.canonical !== undefined && previewTags(content, site.baseUrl())}
<link rel="icon" href="${ICON}" type="image/svg+xml">
<link rel="apple-touch-icon" href="/apple-touch-icon.png">
<link rel="stylesheet" href="${STYLESHEET}">${[PALETTE_SCRIPT, COPY_SCRIPT, ...scripts].map(
    (src) => html`<script src="${src}" type="module"></script>`,
  )}</head>
<body><a class="skip" href="#main">Skip to content</a>
${header({ sandbox: site.sandbox, section, hasSidebar, visitor })}<div class="frame">${
    tabs && sidebar(tabs, tab, visitor)
  }<main id="main">${main}${content.dataAsOf && dataAgeLine(content.dataAsOf)}</main></div>
${footer}</body></html>`
}
