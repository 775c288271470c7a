import { createHash } from 'node:crypto'

/** Text that was made safe to stand in a page. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Html | undefined | readonly Part[]

/** Writes HTML; whatever is put in is text, unless it was written by this function itself. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.map((text, i) => text + render(parts[i])).join(''))

const render = (part: Part): string => {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(render).join('')
  return String(part).replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d4d4d8, #3f3f46);
  --soft: light-dark(#f4f4f5, #27272a); --link: light-dark(#1d4ed8, #93c5fd) }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; font: 1rem/1.55 system-ui, sans-serif }
a { color: var(--link) } :focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
.skip:not(:focus) { position: absolute; left: -99rem }
pre { background: var(--soft); padding: .75rem; overflow-x: auto; border-radius: .4rem }
code { font: .9em ui-monospace, monospace } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0;
  border-bottom: 1px solid var(--line) }
nav ul { columns: 16rem; padding-left: 1rem } summary { cursor: pointer; padding: .2rem 0 }
section > article { border-top: 1px solid var(--line); margin-top: 1.5rem }
h3 code { overflow-wrap: anywhere }`

/** The page brings its one style along, known by its hash, and asks nobody for anything. */
const CSP = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A whole page of the documents, as an answer. */
export function docsPage(title: string, main: Html) {
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title} · AgentHub</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>${new Html(STYLE)}</style></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header><p><a href="/docs">API reference</a> · <a href="/docs/problems">Problems</a> ·
<a href="/openapi.json">OpenAPI</a> · <a href="/llms.txt">llms.txt</a></p></header>
<main id="main"><h1>${title}</h1>${main}</main></body></html>`
  return {
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': CSP },
    body: Buffer.from(page.text),
  }
}
