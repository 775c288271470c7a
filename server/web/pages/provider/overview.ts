import type { Pool } from 'pg'
import { z } from 'zod'
import type { Clock } from '../../../../core/clock.ts'
import type { ListPage } from '../../../rest/paging.ts'
import type { ProviderBalanceJson } from '../../../rest/provider/balance.ts'
import type { DomainJson } from '../../../rest/provider/domains/index.ts'
import type { ProviderNameJson } from '../../../rest/provider/name.ts'
import type { StatisticsJson } from '../../../rest/provider/statistics.ts'
import { dayRangeOf, RANGES, type Range, rangeField } from '../../chart-range.ts'
import { viewSwitch } from '../../form.ts'
import { lastDays } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { SELLING_TABS } from '../../navigation.ts'
import { type AnyPage, page, requireSession } from '../../page.ts'
import { withQuery } from '../../table.ts'
import { balancePart } from './balance.ts'
import { domainBadge } from './domains.ts'
import { type EarningsFigures, earningsPart, readEarningsFigures } from './earnings.ts'
import { nameAction, namePart } from './name.ts'
import { type ServiceRowJson, serviceBadge } from './services.ts'
import { callCharts, failedPart, totalsPart } from './statistics.ts'

const PATH = '/provider'
const MAX_ROWS = '10'

interface OverviewDeps {
  readonly pool: Pool
  readonly clock: Clock
}

/** `/provider`: earnings, statistics, APIs and domains of a provider. */
export const overviewPage = ({ pool, clock }: OverviewDeps): AnyPage =>
  page(PATH, {
    query: z.object({ days: rangeField }),
    actions: { name: nameAction },
    notices: {
      name: 'Name saved. Buyers see it now.',
      'name-submitted': 'Name submitted. Buyers see it once an administrator approves it.',
    },
    render: async (request) => {
      const { api, query } = request
      const { principals } = requireSession(request)
      const range = dayRangeOf(lastDays(clock.now(), Number(query.days)))
      const { from, to } = range
      const [services, domains, figures, earned, balance, name] = await Promise.all([
        api<ListPage<ServiceRowJson>>('GET /v1/provider/services', { query: { limit: MAX_ROWS } }),
        api<ListPage<DomainJson>>('GET /v1/domains', { query: { limit: MAX_ROWS } }),
        api<StatisticsJson>('GET /v1/provider/statistics', {
          query: { from, to, by: range.period === 'day' ? 'day' : 'outcome' }, // days are charted
        }),
        readEarningsFigures(pool, principals, range),
        api<ProviderBalanceJson>('GET /v1/provider/balance'),
        api<ProviderNameJson>('GET /v1/provider/name'),
      ])
      const {
        owed_microdollars: owed,
        under_way_microdollars: pending,
        paid_microdollars: paid,
        debt_microdollars: debt,
      } = balance.totals
      const hasEarned = owed + pending + paid + debt > 0
      const isProvider = services.data.length + domains.data.length > 0 || hasEarned
      return {
        title: 'Selling',
        tabs: SELLING_TABS,
        tab: 'Overview',
        main: html`<h1>Selling</h1>${
          isProvider
            ? [
                balancePart(balance),
                salesPart(figures, earned, query.days),
                offerLists(services.data, domains.data),
                namePart(name, request),
              ]
            : firstSteps()
        }`,
      }
    },
  })

/** Earnings by API, and calls, of a range of days. */
function salesPart(figures: StatisticsJson, earned: EarningsFigures, days: Range): Html {
  const { range, rows } = earned
  const ranges = viewSwitch('Range', RANGES, days, (other) => withQuery(PATH, { days: other }))
  if (figures.totals.calls === 0 && rows.length === 0) {
    return html`<h2>Earnings by API</h2>${ranges}${emptyState('No calls in this period.')}`
  }
  const { from, to } = range
  return html`<h2>Earnings by API</h2>${ranges}${earningsPart(earned)}<h2>Calls</h2>${totalsPart(
    figures.totals,
  )}${failedPart(figures)}${
    range.period === 'day'
      ? callCharts(range.days, figures.data)
      : html`<p><a href="${withQuery('/provider/statistics', { from, to })}">Calls and latency by
day</a></p>`
  }`
}

const firstSteps = (): Html =>
  html`<p class="lead">Sell APIs and web pages to agents, paid per request. You set the price;
failed calls are not charged; the platform keeps a commission.</p>${emptyState(
    'Nothing listed yet.',
    html`<p><a class="button" href="/provider/services">List an API</a>
<a class="button plain" href="/provider/domains">Sell web pages</a></p>`,
  )}<p>You can also run a service inside the hub as a plugin: see the
<a href="/docs/providers">guide for providers</a>.</p>`

const offerLists = (services: readonly ServiceRowJson[], domains: readonly DomainJson[]): Html =>
  html`<div class="columns"><section><h2>APIs</h2><ul class="plain-list">${services.map(
    (each) =>
      html`<li><a href="/provider/services/${each.slug}">${each.name}</a>
${serviceBadge(each)}</li>`,
  )}</ul><p><a href="/provider/services">${
    services.length > 0 ? 'All APIs' : 'List an API'
  }</a></p></section><section><h2>Domains</h2><ul class="plain-list">${domains.map(
    (each) =>
      html`<li><a href="/provider/domains/${each.domain_id}">${each.domain}</a> ${domainBadge(
        each,
      )}</li>`,
  )}</ul><p><a href="/provider/domains">${
    domains.length > 0 ? 'All domains' : 'Add a domain'
  }</a></p></section></div>`
