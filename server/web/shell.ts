import { ICON } from './assets.ts'
import { formatDollars } from './format.ts'
import { Html, html } from './html.ts'
import { icon } from './icons.ts'
import { areasOf, MAIN_LINKS, SHORTCUTS, type TabGroup } from './navigation.ts'
import { breakableHex } from './table.ts'
import type { Visitor } from './visitor.ts'

const CURRENT_PAGE = new Html(' aria-current="page"')

const linkList = (links: Readonly<Record<string, string>>, current: string | undefined): Html =>
  html`<ul>${Object.entries(links).map(
    ([name, path]) =>
      html`<li><a href="${path}"${name === current && CURRENT_PAGE}>${name}</a></li>`,
  )}</ul>`

/** Parts of the header that depend on the page and its visitor. */
interface HeaderContent {
  readonly sandbox: boolean
  /** Name of the current main link. */
  readonly section: string | undefined
  readonly hasSidebar: boolean
  readonly visitor: Visitor | undefined
}

/** Header of every page. Its menus are popovers, which need no script. */
export const header = ({ sandbox, section, hasSidebar, visitor }: HeaderContent): Html =>
  html`<header class="header"><nav class="main-nav" aria-label="Main">${
    hasSidebar &&
    html`<button type="button" class="menu-button" popovertarget="sidebar" aria-label="Menu">${icon(
      'bars-3',
    )}</button>`
  }<a class="brand" href="/"><img src="${ICON}" width="24" height="24" alt="">AgentHub</a>${
    sandbox && TEST_MODE
  }${linkList(MAIN_LINKS, section)}${PALETTE}${visitor && accountMenu(visitor)}</nav></header>`

/** Command palette: a form that needs no script; with one, Ctrl+K or ⌘K opens it. */
const PALETTE = html`<button type="button" class="menu-button palette-button"
popovertarget="palette" aria-label="Go to" aria-keyshortcuts="Control+K Meta+K"
title="Go to (Ctrl+K)">${icon('magnifying-glass')}</button>
<div id="palette" class="popover" popover><form action="/go" role="search" aria-label="Go to">
<label for="palette-q">Page, service, key or id</label><div class="search-box"><input
id="palette-q" type="search" name="q" autofocus autocomplete="off"><button type="submit">Go
</button></div></form><output for="palette-q"></output>
<button type="button" class="plain" hidden>Keyboard shortcuts</button></div>
<div id="shortcuts" class="popover" popover><p><strong>Keyboard shortcuts</strong></p><ul>
<li><a href="/go">Go to <span><kbd>Ctrl</kbd> <kbd>K</kbd></span></a></li>
${Object.entries(SHORTCUTS).map(
  ([key, [name, path]]) =>
    html`<li><a href="${path}" data-key="${key}">${name} <span><kbd>g</kbd> <kbd>${key}</kbd></span>
</a></li>`,
)}</ul><p class="small muted"><kbd>/</kbd> searches, <kbd>?</kbd> opens this list.</p>
<label class="pick"><input type="checkbox" id="single-keys" checked>Use single keys</label></div>`

const TEST_MODE = html`<button type="button" class="badge fair" popovertarget="test-mode">Test mode
</button><div id="test-mode" class="popover" popover>This is a sandbox. It uses test money; real
wallets cannot pay here.</div>`

/** Credits in the header: whole cents from a dollar on, so that it stays one line on a phone. */
const roundedCredits = (credits: bigint): bigint =>
  credits < 1_000_000n ? credits : credits - (credits % 10_000n)

const accountMenu = ({ name, credits }: Visitor): Html => {
  const shown = formatDollars(roundedCredits(credits))
  return html`<button type="button" class="menu-button account-button" popovertarget="account-menu"
aria-label="Account menu, ${shown} credits">${icon('user-circle')}${shown}
</button><div id="account-menu" class="popover" popover><p>Signed in as<br>
<strong>${name.startsWith('0x') ? breakableHex(name) : name}</strong></p>
<p class="muted">${formatDollars(credits)} credits</p><ul>
<li><a href="/topup">Add credits</a></li><li><a href="/account/keys">Keys</a></li>
<li><a href="/account/history">History</a></li>
<li><a href="/account/sessions">${icon('arrow-right-start-on-rectangle')}Sign out</a></li>
</ul></div>`
}

/** Areas of up to this number of links in all are open, not only the current one. */
const MAX_OPEN_LINKS = 15

/** Pages of the areas that a visitor may enter. A popover on narrow screens. */
export function sidebar(current: TabGroup, tab: string, visitor: Visitor | undefined): Html {
  const areas = visitor ? areasOf(visitor.role) : [current]
  const shown = areas.includes(current) ? areas : [current, ...areas]
  const count = shown.reduce((sum, { pages }) => sum + Object.keys(pages).length, 0)
  return html`<nav id="sidebar" class="sidebar" popover aria-label="${current.label}">${linkList(
    MAIN_LINKS,
    undefined,
  )}${shown.map(
    (area) =>
      html`<details${(area === current || count <= MAX_OPEN_LINKS) && OPEN}><summary>${icon(
        area.icon,
      )}${area.label}</summary>${linkList(
        area.pages,
        area === current ? tab : undefined,
      )}</details>`,
  )}</nav>`
}

const OPEN = new Html(' open')

export const footer = html`<footer class="footer"><a href="/docs/agents">For agents</a>
<a href="/docs/providers">For providers</a><a href="/docs/finance">For finance</a>
<a href="/docs">API reference</a>
<a href="/docs/problems">Error codes</a>
<a href="/openapi.json">OpenAPI</a><a href="/llms.txt">llms.txt</a>
<a href="/.well-known/x402">x402</a></footer>`
