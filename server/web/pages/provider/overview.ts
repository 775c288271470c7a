import { z } from 'zod'
import { type Clock, dayName, daysBefore } from '../../../../core/clock.ts'
import type { Listed } from '../../../rest/paging.ts'
import type { ProviderBalanceJson } from '../../../rest/provider/balance.ts'
import type { DomainJson } from '../../../rest/provider/domains.ts'
import type { StatisticsJson } from '../../../rest/provider/statistics.ts'
import { SELLING } from '../../areas.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, page } from '../../page.ts'
import { balancePart } from './balance.ts'
import { domainBadge } from './domains.ts'
import { type ServiceRowJson, serviceBadge } from './services.ts'
import { earnedChart, failedPart, totalsPart } from './statistics.ts'

const DAYS = 30
const SHOWN = '10'

/** `/provider`: what somebody sells, and how it does. */
export const overviewPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page({
    path: '/provider',
    person: true,
    query: z.object({}),
    show: async ({ ask }) => {
      const from = dayName(daysBefore(clock.now(), DAYS - 1))
      const [services, domains, figures, balance] = await Promise.all([
        ask<Listed<ServiceRowJson>>('GET /v1/provider/services', { query: { limit: SHOWN } }),
        ask<Listed<DomainJson>>('GET /v1/domains', { query: { limit: SHOWN } }),
        ask<StatisticsJson>('GET /v1/provider/statistics', { query: { from } }),
        ask<ProviderBalanceJson>('GET /v1/provider/balance'),
      ])
      const earns = balance.totals.owed_microdollars + balance.totals.paid_microdollars > 0
      const sells = services.data.length + domains.data.length > 0 || earns
      return {
        title: 'Selling',
        area: SELLING,
        tab: 'Overview',
        main: html`<h1>Selling</h1>${
          sells
            ? html`${balancePart(balance)}<h2>The last 30 days</h2>${
                figures.totals.calls > 0
                  ? html`${totalsPart(figures.totals)}${failedPart(figures.totals)}${earnedChart(
                      figures,
                    )}`
                  : empty('Nothing of yours was called.')
              }${goods(services.data, domains.data)}`
            : begin()
        }`,
      }
    },
  })

const begin = (): Html =>
  html`<p class="lead">Agents buy here by the request. You set the price; what fails is not charged,
and the hub keeps a commission of what was paid.</p>${empty(
    'You sell nothing yet.',
    html`<p><a class="button" href="/provider/services">List an API</a>
<a class="button plain" href="/provider/domains">Sell the pages of a site</a></p>`,
  )}<p>Services that are programs of their own run in the hub: see
<a href="/docs/providers">the guide for providers</a>.</p>`

const goods = (services: readonly ServiceRowJson[], domains: readonly DomainJson[]): Html =>
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
