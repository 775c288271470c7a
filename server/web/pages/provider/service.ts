import { z } from 'zod'
import type { Listed } from '../../../rest/paging.ts'
import { SELLING } from '../../areas.ts'
import { fieldsOf, form } from '../../form.ts'
import { instantText, milliseconds, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type AnyPage, type PageRequest, page } from '../../page.ts'
import { facts, table } from '../../table.ts'
import { serviceActs } from './service-acts.ts'
import { endpointsPart } from './service-endpoints.ts'
import { type ServiceJson, serviceBadge } from './services.ts'

const Query = z.object({ endpoint: z.string().max(310).optional() })

interface PriceJson {
  readonly method: string
  readonly path: string
  readonly price_microdollars: number
  readonly set_at: string
  readonly effective_at: string
  readonly withdrawn_at: string | null
  readonly current: boolean
}

/** `/provider/services/{slug}`: an API that is listed without code, and all about it. */
export const servicePage = (): AnyPage =>
  page({
    path: '/provider/services/{slug}',
    person: true,
    query: Query,
    acts: serviceActs,
    done: {
      imported: 'The document is imported as a draft. Look at endpoints and prices, then activate.',
      listed: 'The draft is made. It needs an endpoint with a price.',
      active: 'It is on sale.',
      pending: 'An administrator is asked to approve of it.',
      paused: 'It is not sold any more, until you activate it again.',
      retired: 'Its end is announced: callers are told with every answer.',
      endpoints: 'The endpoints are changed: they count within a second.',
      priced: 'The price is set. A lower one counts at once, a higher one after the notice.',
      secret: 'The secret is set, and used from the next request on.',
      changed: 'Saved.',
    },
    show: async (request) => {
      const { ask, params } = request
      const [service, prices] = await Promise.all([
        ask<ServiceJson>('GET /v1/provider/services/{slug}', { params }),
        ask<Listed<PriceJson>>('GET /v1/provider/services/{slug}/prices', { params }),
      ])
      return {
        title: service.name,
        area: SELLING,
        tab: 'APIs',
        main: html`<p class="crumbs"><a href="/provider/services">APIs</a></p>
<h1>${service.name} ${serviceBadge(service)}</h1>${missing(service)}${about(service)}${states(
          service,
        )}${endpointsPart(service, request)}${pricesPart(prices.data)}${testPart(
          service,
          request,
        )}${secretPart(service, request)}${settings(service, request)}${ending(service, request)}`,
      }
    },
  })

const missing = (service: ServiceJson): Html | undefined =>
  service.missing.length === 0
    ? undefined
    : html`<div class="box fair"><p><strong>Before it can be sold:</strong></p>
<ul>${service.missing.map((what) => html`<li>${what}</li>`)}</ul></div>`

const about = (service: ServiceJson): Html =>
  facts({
    'Called at': html`<code>${service.proxy_url}</code>`,
    'Asked at': html`<code>${service.base_url}</code>`,
    'Why it is suspended': service.reason,
    'Last day of sale': service.sunset_on,
    Health: service.health && healthOf(service.health),
    Page:
      service.state === 'active' &&
      html`<a href="/services/${service.slug}">/services/${service.slug}</a>`,
  })

const healthOf = ({ up, since, latency_ms: latency, detail }: NonNullable<ServiceJson['health']>) =>
  html`<span class="${up === null ? '' : up ? 'good' : 'bad'}">${
    up === null ? 'not looked yet' : up ? 'up' : 'down'
  }</span> since ${instantText(since)}${latency !== null && `, ${milliseconds(latency)}`}${
    detail !== null && html` <span class="muted">${detail}</span>`
  }`

/** What may come next, by the state. */
const states = ({ state }: ServiceJson): Html | undefined =>
  state === 'draft' || state === 'paused'
    ? form({ act: 'activate', submit: state === 'draft' ? 'Activate' : 'Sell again' })
    : state === 'active'
      ? html`<p>${form({ act: 'pause', submit: 'Pause the sale', kind: 'plain' })}</p>`
      : undefined

const pricesPart = (prices: readonly PriceJson[]): Html | undefined =>
  prices.length === 0
    ? undefined
    : html`<h2>Prices, the newest first</h2>${table(
        'Prices',
        [
          { head: 'Endpoint', cell: ({ method, path }) => html`<code>${method} ${path}</code>` },
          { head: 'Price', number: true, cell: (each) => money(each.price_microdollars) },
          { head: 'Set', whole: true, cell: ({ set_at: at }) => instantText(at) },
          { head: 'Counts from', whole: true, cell: ({ effective_at: at }) => instantText(at) },
          { head: 'State', cell: stateOfPrice },
        ],
        prices,
      )}`

function stateOfPrice({ current, withdrawn_at: gone, effective_at: at, set_at: set }: PriceJson) {
  if (current) return html`<span class="badge good">counts</span>`
  if (gone !== null) return html`<span class="muted">withdrawn</span>`
  return html`<span class="muted">${at > set ? 'announced' : 'before'}</span>`
}

function testPart({ endpoints }: ServiceJson, { sent }: PageRequest<unknown>): Html | undefined {
  if (endpoints.length === 0) return undefined
  const { text, select } = fieldsOf('test', sent)
  const names = endpoints.map(({ method, path }) => `${method} ${path}`)
  return html`<h2>Try it</h2><p>One call, unpaid; it tells how it would have been
charged.</p>${form({
    act: 'test',
    submit: 'Call it',
    kind: 'plain',
    fields: [
      select(
        { name: 'endpoint', label: 'Endpoint', required: true, value: names[0] },
        Object.fromEntries(names.map((name) => [name, name])),
      ),
      text({ name: 'input', label: 'Input, as JSON', lines: 3, placeholder: '{}' }),
    ],
  })}`
}

function secretPart({ secrets }: ServiceJson, { sent }: PageRequest<unknown>): Html {
  const { text } = fieldsOf('secret', sent)
  return html`<h2>Secret</h2><p>A header that the hub adds to each request, so that your server
knows it. It is kept encrypted, and never shown.${
    secrets.length > 0 &&
    html` Now: ${secrets.map(
      (each) => html`<code>${each.name}</code>, set ${instantText(each.set_at)}. `,
    )}`
  }</p>${form({
    act: 'secret',
    submit: 'Set the secret',
    kind: 'plain',
    fields: [
      text({ name: 'name', label: 'Header', required: true, value: 'Authorization', max: 100 }),
      text({
        name: 'value',
        label: 'Value',
        hint: html`All of it: <code>Bearer abc</code>. Left empty: none is sent.`,
      }),
    ],
  })}`
}

function settings(service: ServiceJson, { sent }: PageRequest<unknown>): Html {
  const { text } = fieldsOf('change', sent)
  return html`<h2>How it is shown, and where it is</h2>${form({
    act: 'change',
    submit: 'Save',
    kind: 'plain',
    fields: [
      text({ name: 'name', label: 'Name', required: true, max: 100, value: service.name }),
      text({ name: 'category', label: 'Category', required: true, value: service.category }),
      text({ name: 'summary', label: 'Summary', required: true, max: 500, value: service.summary }),
      text({
        name: 'base_url',
        label: 'Where the API is',
        required: true,
        value: service.base_url,
        hint: 'At another host, secrets are set anew.',
      }),
      text({
        name: 'free_calls_per_month',
        label: 'Free calls a month',
        required: true,
        numeric: true,
        size: 8,
        value: String(service.free_calls_per_month),
        hint: 'For each caller. They earn nothing.',
      }),
    ],
  })}`
}

function ending({ state }: ServiceJson, { sent }: PageRequest<unknown>): Html | undefined {
  if (state !== 'active' && state !== 'paused') return undefined
  const { text, sure } = fieldsOf('retire', sent)
  return html`<h2>Retire</h2><p>Announces its end. Callers are told until the day comes.</p>${form({
    act: 'retire',
    submit: 'Retire',
    kind: 'danger',
    fields: [
      text({
        name: 'sunset',
        label: 'Last day',
        type: 'date',
        hint: 'Left empty: the first that the notice allows.',
      }),
      sure(),
    ],
  })}`
}
