import { z } from 'zod'
import type { RuleJson } from '../../../rest/provider/domains/rules.ts'
import { form } from '../../form.ts'
import { formatDollars } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { flashMessage } from '../../messages.ts'
import { type FormAction, formAction } from '../../page.ts'
import { definitionList } from '../../table.ts'
import type { DomainRequest } from './domain-rules.ts'

/** Characters of the extracted text that the page shows. */
const SHOWN_CHARS = 6_000

/** Response of `POST /v1/domains/{id}/preview`. */
interface PreviewJson {
  readonly outcome: string
  readonly rule: RuleJson | null
  readonly robots_allowed: boolean | null
  readonly directives: readonly string[]
  readonly read_by: string | null
  readonly page: { readonly title?: string | null; readonly markdown?: string } | null
  readonly problem: { readonly code: string; readonly detail: string } | null
}

/** Reads a page as agents would get it, without charge. */
export const previewAction: FormAction = formAction({
  fields: z.object({ url: z.string().trim().max(2_000) }),
  run: async ({ api, params }, { url }) => {
    const found = await api<PreviewJson>('POST /v1/domains/{id}/preview', { params, body: { url } })
    return { message: previewResult(url, found) }
  },
})

/** Button that reads the page of a price check. */
const previewForm = (url: string): Html =>
  form({ act: 'preview', submit: 'Preview what agents get', kind: 'plain', hidden: { url } })

/** Messages by outcome of a price check. */
const OUTCOME_TEXTS: Readonly<Record<string, string>> = {
  malformed_url: 'This is not a valid URL.',
  domain_not_registered: 'This page is not on this domain.',
  page_not_for_sale: 'No rule matches this page: it is not sold.',
  page_denied: 'A rule excludes this page from sale.',
}

/** Extracted page beside its price and rule. */
function previewResult(url: string, { rule, page, problem, ...found }: PreviewJson): Html {
  if (!rule) return flashMessage('bad', html`<p>${OUTCOME_TEXTS[found.outcome] ?? ''}</p>`)
  const facts = definitionList({
    Page: html`<a href="${url}" rel="noreferrer">Open the original</a>`,
    Price: formatDollars(rule.price_microdollars ?? 0),
    'From the cache': formatDollars(rule.cached_price_microdollars ?? 0),
    Rule: html`<code>${rule.path}</code>`,
    'robots.txt': found.robots_allowed === null ? false : robotsText(found.robots_allowed),
    'Asks of robots': found.directives.length > 0 && found.directives.join(', '),
    'Read by': found.read_by !== null && READERS[found.read_by],
  })
  if (!page) {
    return flashMessage(
      'bad',
      html`<p><strong>Agents do not get this page.</strong> ${problem?.detail} They are
not charged.${
        problem?.code === 'content_empty' && rule.wait_for === null && WAIT_FOR_HINT
      }</p>${facts}`,
    )
  }
  const text = page.markdown ?? ''
  return flashMessage(
    'good',
    html`<p><strong>This is what agents get.</strong> The preview is free and not a sale.</p>
<div class="beside"><section>${facts}</section><section><h2>${page.title ?? ''}</h2>
<pre tabindex="0" class="wrapped"><code>${text.slice(0, SHOWN_CHARS)}</code></pre>${
      text.length > SHOWN_CHARS && html`<p class="small muted">Only the beginning is shown.</p>`
    }</section></div>`,
  )
}

const WAIT_FOR_HINT = html` If a script adds the text later, edit the rule and set “Wait for” to a
selector of that text.`

const READERS: Readonly<Record<string, string>> = {
  browser: 'a browser, with scripts',
  fast: 'HTML alone, without a browser',
}

const robotsText = (isAllowed: boolean): string =>
  isAllowed ? 'allows reading' : 'forbids reading: agents cannot buy it'

/** Result of a price lookup. */
interface FoundRule {
  readonly outcome: string
  readonly rule: RuleJson | null
}

/** Finds the rule that applies to the page of the query; undefined without one. */
export const findRule = async ({ api, params, query: { url } }: DomainRequest) =>
  url === undefined || url === ''
    ? undefined
    : api<FoundRule>('POST /v1/domains/{id}/rules/try', { params, body: { url } })

/** Price lookup: the rule that applies to a page. @param canPreview false before verification */
export const priceLookup = (
  { query: { url }, path }: DomainRequest,
  found: FoundRule | undefined,
  canPreview: boolean,
): Html =>
  html`<h3 id="try">Check a price</h3><form action="${path}#try" class="filters">
<div><label for="try-url">Page URL</label><input id="try-url" name="url" type="url"
value="${url}" size="36" required></div><button type="submit" class="plain">Check
price</button></form>${
    found &&
    html`<div class="box" role="status"><p>${
      found.rule
        ? html`<strong>${formatDollars(found.rule.price_microdollars ?? 0)}</strong> by the rule
<code>${found.rule.path}</code>.`
        : (OUTCOME_TEXTS[found.outcome] ?? found.outcome)
    }</p>${found.rule && canPreview && previewForm(url ?? '')}</div>`
  }`
