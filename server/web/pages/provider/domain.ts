import { z } from 'zod'
import { type MissingProof, PROOF_PLACES } from '../../../../core/catalog/listings/find-proof.ts'
import { type Clock, dayName, daysBefore } from '../../../../core/clock.ts'
import { Fault } from '../../../../core/errors.ts'
import type { ListPage } from '../../../rest/paging.ts'
import type { EarningJson } from '../../../rest/provider/domains/earnings.ts'
import type { DomainDetailJson } from '../../../rest/provider/domains/index.ts'
import type { RuleJson } from '../../../rest/provider/domains/rules.ts'
import { dayRangeOf } from '../../chart-range.ts'
import { dialogs } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { confirmedCheckbox } from '../../form-schemas.ts'
import { alignedColumn, formatCount, formatDollars, formatTime, lastDays } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState, flashMessage } from '../../messages.ts'
import { SELLING_TABS } from '../../navigation.ts'
import {
  type AnyPage,
  type FormAction,
  formAction,
  type PageRequest,
  page,
  type Submission,
} from '../../page.ts'
import { reviewNotice } from '../../review.ts'
import { cardTable, definitionList, metrics } from '../../table.ts'
import { findRule, previewAction, priceLookup } from './domain-preview.ts'
import { DomainQuery, type DomainRequest, ruleActions, rulesPart } from './domain-rules.ts'
import { domainBadge } from './domains.ts'
import { earningsChart } from './earnings.ts'

const DAYS = 30
const ACTIONS: Readonly<Record<string, FormAction>> = {
  verify: formAction({
    run: async ({ api, params, path }) => {
      try {
        await api('POST /v1/domains/{id}/verify', { params })
        return { to: `${path}?done=verified` }
      } catch (error) {
        const missing = error instanceof Fault && error.extras['missing']
        if (!missing) throw error
        return { message: missingProofs(missing as readonly MissingProof[]) }
      }
    },
  }),
  change: formAction({
    fields: z.object({ name: z.string(), summary: z.string() }),
    run: async ({ api, params, path }, body) => {
      await api('PATCH /v1/domains/{id}', { params, body })
      return { to: `${path}?done=changed` }
    },
  }),
  withdraw: formAction({
    run: async ({ api, params, path }) => {
      await api('POST /v1/domains/{id}/withdraw', { params })
      return { to: `${path}?done=withdrawn` }
    },
  }),
  sell: formAction({
    fields: z.object({ selling: z.enum(['true', 'false']) }),
    run: async ({ api, params, path }, { selling }) => {
      await api('PATCH /v1/domains/{id}', { params, body: { selling: selling === 'true' } })
      return { to: `${path}?done=${selling === 'true' ? 'selling' : 'resting'}` }
    },
  }),
  delete: formAction({
    fields: z.object({ sure: confirmedCheckbox }),
    run: async ({ api, params }) => {
      await api('DELETE /v1/domains/{id}', { params })
      return { to: '/provider/domains?done=deleted' }
    },
  }),
  ...ruleActions,
  preview: previewAction,
}

/** `/provider/domains/{id}`: proof of ownership, prices and earnings of a domain. */
export const domainPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page('/provider/domains/{id}', {
    query: DomainQuery,
    actions: ACTIONS,
    notices: {
      added: 'Domain added. Next, prove that you own it.',
      verified: 'Domain verified. Its pages are sold by your price rules.',
      changed: 'Saved.',
      withdrawn: 'Texts withdrawn.',
      selling: 'Sales resumed.',
      resting: 'Sales stopped. No pages of this domain are sold.',
      rule: 'Price rules saved. They take effect within a second.',
    },
    render: async (request) => {
      const { api, params } = request
      const [domain, { rules }, found, ...earned] = await Promise.all([
        api<DomainDetailJson>('GET /v1/domains/{id}', { params }),
        api<{ rules: readonly RuleJson[] }>('GET /v1/domains/{id}/rules', { params }),
        findRule(request),
        earningsOf(request, clock.now(), 'day', '100'),
        earningsOf(request, clock.now(), 'page', '10'),
      ])
      return {
        title: domain.domain,
        tabs: SELLING_TABS,
        tab: 'Domains',
        main: html`<p class="breadcrumb"><a href="/provider/domains">Domains</a></p>
<h1>${domain.domain} ${domainBadge(domain)}</h1>${reviewPart(domain)}${proofPart(domain)}${
          domain.state !== 'pending' && saleFacts(domain)
        }${settings(domain, request)}${rulesPart(
          rules,
          request,
          found?.rule ?? null,
        )}${priceLookup(request, found, domain.state === 'verified')}${
          domain.state !== 'pending' && earningsPart(lastDays(clock.now(), DAYS), ...earned)
        }`,
      }
    },
  })

const earningsOf = async ({ api, params }: PageRequest, now: Date, by: string, limit: string) => {
  const query = { by, limit, from: dayName(daysBefore(now, DAYS - 1)) }
  return (await api<ListPage<EarningJson>>('GET /v1/domains/{id}/earnings', { params, query })).data
}

const reviewPart = ({ review }: DomainDetailJson): Html | undefined =>
  reviewNotice(review, form({ act: 'withdraw', submit: 'Withdraw texts', kind: 'plain' }))

/** Message that says what the hub saw in each place of the proof. */
const missingProofs = (missing: readonly MissingProof[]): Html =>
  flashMessage(
    'bad',
    html`<p><strong>Not verified.</strong> We did not find the token:</p><ul>${missing.map(
      ({ method, problem }) => html`<li>${PROOF_PLACES[method]}: ${problem}</li>`,
    )}</ul><p>Correct one of them, then verify again. A new DNS record may take some minutes to be
visible.</p>`,
  )

const PROOF_STEPS: Readonly<Record<string, string>> = {
  file: 'A file at this URL with this content',
  meta: 'A meta tag in the head of the home page',
  dns: 'A DNS TXT record',
}

const LOST_REASONS: Readonly<Record<string, string>> = {
  expired: 'We did not find the proof for three days.',
  transferred: 'Someone else has verified this domain with a proof of their own.',
}

function proofPart({
  state,
  proof: { ways, method, proven_at: at, next_check_at: next, expires_at: end },
}: DomainDetailJson) {
  const verify = form({ act: 'verify', submit: 'Verify' })
  if (state === 'verified' && end === null) {
    return html`<p>Verified by ${method}, ${formatTime(at)}. Keep the proof in place: we check it
again ${formatTime(next)}.</p>`
  }
  return html`<h2>Prove ownership</h2>${
    end !== null
      ? html`<p><strong>We did not find the proof at the last check.</strong> Publish it again by
${formatTime(end)}; otherwise its pages are no longer sold.</p>`
      : state !== 'pending' &&
        html`<p>${LOST_REASONS[state]} Its pages are not sold until you verify it again.</p>`
  }<p>Choose one of these. Leave it in place: we check it daily.</p>
<ol class="steps">${ways.map(
    (way) =>
      html`<li><p><strong>${PROOF_STEPS[way.method] ?? way.method}</strong></p>
<p class="secret"><code>${way.where}</code></p><p class="secret"><code>${way.content}</code>
<button type="button" class="plain" data-copy="${way.content}" hidden>Copy</button></p></li>`,
  )}</ol><p>Then verify it:</p>${verify}`
}

const saleFacts = (domain: DomainDetailJson): Html =>
  html`${metrics({ Balance: formatDollars(domain.earned_microdollars) })}${definitionList({
    Service: domain.slug && html`<a href="/services/${domain.slug}">${domain.slug}</a>`,
    'Fetch URL': domain.fetch_url && html`<code>${domain.fetch_url}</code>`,
  })}`

const settings = (domain: DomainDetailJson, { submission, path, query }: DomainRequest): Html =>
  html`${dialogs(
    [
      {
        name: 'change',
        button: 'Listing details…',
        title: 'Listing details',
        content: detailsForm(domain, submission),
      },
      domain.state !== 'pending' && domain.selling && STOP_SALES,
      {
        name: 'delete',
        button: 'Delete…',
        title: 'Delete this domain',
        kind: 'danger',
        content: form({
          act: 'delete',
          submit: 'Delete domain',
          kind: 'danger',
          fields: [
            formFields('delete', submission).confirmation(
              'Stops all sales. You keep what it earned.',
            ),
          ],
        }),
      },
    ],
    path,
    submission?.act ?? query.edit,
  )}${
    domain.state !== 'pending' &&
    !domain.selling &&
    html`<p>No pages of this domain are sold.</p>${form({
      act: 'sell',
      submit: 'Resume sales',
      hidden: { selling: 'true' },
    })}`
  }`

function detailsForm({ name, summary }: DomainDetailJson, submission: Submission | undefined) {
  const { text } = formFields('change', submission)
  return form({
    act: 'change',
    submit: 'Save',
    fields: [
      text({ name: 'name', label: 'Name', required: true, max: 100, value: name }),
      text({ name: 'summary', label: 'Summary', required: true, max: 500, value: summary }),
    ],
  })
}

const STOP_SALES = {
  name: 'sell',
  button: 'Stop sales…',
  title: 'Stop sales',
  content: html`<p>Stops selling all pages of this domain immediately. Rules and proof are
kept.</p>${form({ act: 'sell', submit: 'Stop sales', hidden: { selling: 'false' } })}`,
} as const

/** Earnings by day, and of the ten pages that earned most. */
function earningsPart(
  days: readonly string[],
  byDay: readonly EarningJson[],
  byPage: readonly EarningJson[],
): Html {
  if (byPage.length === 0) {
    return html`<h2 id="earnings">Earnings</h2>${emptyState('No pages sold in the last 30 days.')}`
  }
  const rows = byDay.map(({ day = '', earned_microdollars: earned }) => {
    return { day, service: 'earned', earned: BigInt(earned) }
  })
  return html`<h2 id="earnings">Earnings</h2>${earningsChart(dayRangeOf(days), rows)}${cardTable(
    'Earnings by page',
    [
      { head: 'Page', cell: ({ page }) => html`<code>${page}</code>` },
      { head: 'Sold', number: true, cell: ({ calls }) => formatCount(calls) },
      { head: 'From cache', number: true, cell: (each) => formatCount(each.cached_calls) },
      {
        head: 'Paid',
        number: true,
        cell: alignedColumn(byPage, (each) => each.charged_microdollars),
      },
      {
        head: 'Earned',
        number: true,
        cell: alignedColumn(byPage, (each) => each.earned_microdollars),
      },
    ],
    byPage,
  )}<p class="small muted">Top ten pages of the last 30 days, after commission. All
pages: <code>GET /v1/domains/{id}/earnings</code>.</p>`
}
