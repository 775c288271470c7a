import type { Pool } from 'pg'
import { z } from 'zod'
import type { Clock } from '../../../../core/clock.ts'
import type { ListPage } from '../../../rest/paging.ts'
import type { ProviderBalanceJson } from '../../../rest/provider/balance.ts'
import type { ServiceCallJson } from '../../../rest/provider/calls.ts'
import type { CustomerJson, StatisticsJson } from '../../../rest/provider/statistics.ts'
import { dayRangeOf } from '../../chart-range.ts'
import { dialogs } from '../../dialog.ts'
import { collapsible, form, formFields } from '../../form.ts'
import { alignedColumn, formatDuration, formatTime, lastDays, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { SELLING_TABS } from '../../navigation.ts'
import {
  type AnyPage,
  type PageRequest,
  page,
  requireSession,
  type Submission,
} from '../../page.ts'
import { reviewNotice } from '../../review.ts'
import { cardTable, definitionList, table, timeAgo } from '../../table.ts'
import { readEarningsFigures } from './earnings.ts'
import { serviceActions } from './service-actions.ts'
import { credentialPart } from './service-credential.ts'
import { endpointsPart } from './service-endpoints.ts'
import { DAYS, failuresPart, figuresPart } from './service-figures.ts'
import { missingPart, statePart, testPart } from './service-state.ts'
import { draftSteps } from './service-steps.ts'
import { type ServiceJson, serviceBadge } from './services.ts'

const Query = z.object({
  endpoint: z.string().max(310).optional(),
  /** Dialog that is open. */
  edit: z.string().max(20).optional(),
})
type Request = PageRequest<z.infer<typeof Query>>

const CALLERS_SHOWN = '5'

interface PriceJson {
  readonly method: string
  readonly path: string
  readonly price_microdollars: number
  readonly set_at: string
  readonly effective_at: string
  readonly withdrawn_at: string | null
  readonly current: boolean
}

interface ServicePageDeps {
  readonly pool: Pool
  readonly clock: Clock
}

/** `/provider/services/{slug}`: an upstream API with its endpoints, prices and settings. */
export const servicePage = ({ pool, clock }: ServicePageDeps): AnyPage =>
  page('/provider/services/{slug}', {
    query: Query,
    actions: serviceActions,
    notices: {
      'imported-part': 'Document imported in part as a draft. See below what was left out and why.',
      imported: 'Document imported as a draft. Review endpoints and prices, then activate it.',
      listed: 'Draft created. Next, add an endpoint with a price.',
      active: 'Your API is on sale.',
      pending: 'Submitted. An administrator must approve it before it goes on sale.',
      paused: 'Sales paused until you resume them.',
      retired: 'Retirement announced. Every response tells callers the last day.',
      endpoints: 'Endpoints saved. Changes take effect within a second.',
      priced: 'Price set. Decreases take effect immediately, increases after the notice period.',
      secret: 'Upstream credential saved. It is used from the next request on.',
      changed: 'Saved.',
      submitted: 'Saved as a new version. Callers see it once an administrator approves it.',
      withdrawn: 'Version withdrawn.',
    },
    render: async (request) => {
      const { service, prices, figures, failures } = await readService(request, pool, clock.now())
      const isDraft = service.state === 'draft'
      return {
        title: service.name,
        tabs: SELLING_TABS,
        tab: 'APIs',
        main: html`<p class="breadcrumb"><a href="/provider/services">APIs</a></p>
<h1>${service.name} ${serviceBadge(service)}</h1>${[
          isDraft ? draftSteps(service, request) : missingPart(service),
          reviewPart(service),
          reportPart(service),
          about(service),
          settings(service, request),
          !isDraft && statePart(service, request),
          endpointsPart(service, request),
          figuresPart(service, figures),
          !isDraft && failuresPart(service, failures),
          pricesPart(prices),
          credentialPart(service, request),
          testPart(service, request),
        ]}`,
      }
    },
  })

/** Reads an API, its prices, and its figures of the last days. */
async function readService({ api, params, session }: Request, pool: Pool, now: Date) {
  const { slug } = params
  const range = dayRangeOf(lastDays(now, DAYS))
  const { from, to } = range
  const { principals } = requireSession({ session })
  const [service, prices, figures, earned, failures, customers, balance] = await Promise.all([
    api<ServiceJson>('GET /v1/provider/services/{slug}', { params }),
    api<ListPage<PriceJson>>('GET /v1/provider/services/{slug}/prices', { params }),
    api<StatisticsJson>('GET /v1/provider/statistics', {
      query: { service: slug, by: 'endpoint', from, to },
    }),
    readEarningsFigures(pool, principals, range, slug),
    api<ListPage<ServiceCallJson>>('GET /v1/provider/calls', {
      query: { service: slug, outcome: 'failed' },
    }),
    api<ListPage<CustomerJson>>('GET /v1/provider/customers', {
      query: { service: slug, from, to, limit: CALLERS_SHOWN },
    }),
    api<ProviderBalanceJson>('GET /v1/provider/balance'),
  ])
  return {
    service,
    prices: prices.data,
    figures: { figures, earned, customers: customers.data, balance },
    failures: failures.data,
  }
}

const reviewPart = ({ review }: ServiceJson): Html | undefined =>
  reviewNotice(review, form({ act: 'withdraw', submit: 'Withdraw version', kind: 'plain' }))

/** Parts of the imported document that the import skipped or simplified; shown for drafts. */
function reportPart({ state, imported }: ServiceJson): Html | undefined {
  if (state !== 'draft' || imported === null || imported.not_understood.length === 0) return
  const { not_understood: gaps } = imported
  return html`<div class="box"><p><strong>Skipped or simplified on import:</strong>
${pluralize(gaps.length, 'item')}, ${formatTime(imported.at)}.</p><details${
    gaps.length <= MAX_OPEN_ROWS && OPEN
  }><summary>Details</summary>${table(
    'Skipped or simplified',
    [
      { head: 'Location', cell: ({ at }) => html`<code>${at}</code>` },
      { head: 'Problem', cell: ({ what }) => what },
    ],
    gaps,
  )}</details></div>`
}

const MAX_OPEN_ROWS = 5
const OPEN = html` open`

const about = (service: ServiceJson): Html =>
  definitionList({
    'URL for callers': html`<code>${service.proxy_url}</code>`,
    'Upstream URL': html`<code>${service.base_url}</code>`,
    'Reason for suspension': service.reason,
    'Last day on sale': service.sunset_on,
    Health: service.health && healthOf(service.health),
    Page:
      service.state === 'active' &&
      html`<a href="/services/${service.slug}">/services/${service.slug}</a>`,
  })

type Health = NonNullable<ServiceJson['health']>

const healthOf = ({ up, since, latency_ms: latency, detail }: Health): Html =>
  up === null
    ? html`<span class="muted">not checked yet</span>`
    : html`<span class="${up ? 'good' : 'bad'}">${up ? 'up' : 'down'}</span> since ${formatTime(
        since,
      )}${latency !== null && `, ${formatDuration(latency)}`}${
        detail !== null && html`, <span class="muted">${detail}</span>`
      }`

const pricesPart = (prices: readonly PriceJson[]): Html | undefined =>
  prices.length === 0
    ? undefined
    : collapsible(
        'Price history',
        cardTable(
          'Prices',
          [
            { head: 'Endpoint', cell: ({ method, path }) => html`<code>${method} ${path}</code>` },
            {
              head: 'Price',
              number: true,
              cell: alignedColumn(prices, (each) => each.price_microdollars),
            },
            { head: 'Set', noWrap: true, cell: ({ set_at: at }) => timeAgo(at) },
            {
              head: 'Effective from',
              noWrap: true,
              cell: ({ effective_at: at }) => timeAgo(at),
            },
            { head: 'State', cell: stateOfPrice },
          ],
          prices,
        ),
      )

function stateOfPrice({
  current,
  withdrawn_at: withdrawn,
  effective_at: effective,
  set_at: set,
}: PriceJson) {
  if (current) return html`<span class="badge good">current</span>`
  if (withdrawn !== null) return html`<span class="muted">withdrawn</span>`
  return html`<span class="muted">${effective > set ? 'announced' : 'past'}</span>`
}

/** Dialogs with the texts of the listing and the end of its sale. */
const settings = (service: ServiceJson, { submission, path, query }: Request): Html =>
  dialogs(
    [
      {
        name: 'change',
        button: 'Listing details…',
        title: 'Listing details',
        content: detailsForm(service, submission),
      },
      (service.state === 'active' || service.state === 'paused') && {
        name: 'retire',
        button: 'Retire…',
        title: 'Retire',
        kind: 'danger',
        content: retireForm(submission),
      },
    ],
    path,
    submission?.act ?? query.edit,
  )

function detailsForm(service: ServiceJson, submission: Submission | undefined): Html {
  const { text } = formFields('change', submission)
  return form({
    act: 'change',
    submit: 'Save',
    fields: [
      text({ name: 'name', label: 'Name', required: true, max: 100, value: service.name }),
      text({ name: 'category', label: 'Category', required: true, value: service.category }),
      text({ name: 'summary', label: 'Summary', required: true, max: 500, value: service.summary }),
      text({
        name: 'base_url',
        label: 'Upstream URL',
        required: true,
        value: service.base_url,
        hint: 'If the host changes, set the upstream credential again.',
      }),
      text({
        name: 'free_calls_per_month',
        label: 'Free calls per month',
        required: true,
        numeric: true,
        size: 8,
        value: String(service.free_calls_per_month),
        hint: 'Per caller. You earn nothing for free calls.',
      }),
    ],
  })
}

function retireForm(submission: Submission | undefined): Html {
  const { text, confirmation } = formFields('retire', submission)
  return html`<p>Announces the last day on sale. Responses tell callers until then.</p>${form({
    act: 'retire',
    submit: 'Retire',
    kind: 'danger',
    fields: [
      text({
        name: 'sunset',
        label: 'Last day',
        type: 'date',
        hint: 'Leave empty for the earliest day that the notice period allows.',
      }),
      confirmation(),
    ],
  })}`
}
