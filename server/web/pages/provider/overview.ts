import { type Clock, dayName, daysBefore } from '../../../../core/clock.ts'
import type { ListPage } from '../../../rest/paging.ts'
import type { ProviderBalanceJson } from '../../../rest/provider/balance.ts'
import type { DomainJson } from '../../../rest/provider/domains/index.ts'
import type { ProviderNameJson } from '../../../rest/provider/name.ts'
import type { StatisticsJson } from '../../../rest/provider/statistics.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { SELLING_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { balancePart } from './balance.ts'
import { domainBadge } from './domains.ts'
import { nameAction, namePart } from './name.ts'
import { type ServiceRowJson, serviceBadge } from './services.ts'
import { earningsPart, failedPart, totalsPart } from './statistics.ts'

const DAYS = 30
const MAX_ROWS = '10'

/** `/provider`: earnings, statistics, APIs and domains of a provider. */
export const overviewPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page('/provider', {
    actions: { name: nameAction },
    notices: {
      name: 'Name saved. Buyers see it now.',
      'name-submitted': 'Name submitted. Buyers see it once an administrator approves it.',
    },
    render: async (request) => {
      const { api } = request
      const from = dayName(daysBefore(clock.now(), DAYS - 1))
      const [services, domains, figures, balance, name] = await Promise.all([
        api<ListPage<ServiceRowJson>>('GET /v1/provider/services', { query: { limit: MAX_ROWS } }),
        api<ListPage<DomainJson>>('GET /v1/domains', { query: { limit: MAX_ROWS } }),
        api<StatisticsJson>('GET /v1/provider/statistics', { query: { from } }),
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
            ? html`${balancePart(balance)}<h2>Last 30 days</h2>${
                figures.totals.calls > 0
                  ? html`${totalsPart(figures.totals)}${failedPart(figures.totals)}${earningsPart(
                      figures,
                    )}`
                  : emptyState('No calls in the last 30 days.')
              }${offerLists(services.data, domains.data)}${namePart(name, request)}`
            : firstSteps()
        }`,
      }
    },
  })

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
