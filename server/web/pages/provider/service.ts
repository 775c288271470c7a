import { z } from 'zod'
import type { Listed } from '../../../rest/paging.ts'
import { SELLING } from '../../areas.ts'
import { fieldsOf, fold, form } from '../../form.ts'
import { aligned, counted, instantText, milliseconds } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type AnyPage, type PageRequest, page } from '../../page.ts'
import { cardTable, facts, table } from '../../table.ts'
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
      'imported-part':
        'The first 100 endpoints are imported as a draft. Below is what is left out, and why.',
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
<h1>${service.name} ${serviceBadge(service)}</h1>${missing(service)}${reportPart(service)}${about(
          service,
        )}${states(service)}${endpointsPart(service, request)}${pricesPart(prices.data)}${testPart(
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

/** What the document said, and its import could not take over: it is looked at before the sale. */
function reportPart({ state, imported }: ServiceJson): Html | undefined {
  if (state !== 'draft' || imported === null || imported.not_understood.length === 0) return
  const { not_understood: gaps } = imported
  return html`<div class="box"><p><strong>Left out of the document, or taken loosely:</strong>
${counted(gaps.length, 'place')}, ${instantText(imported.at)}.</p><details${
    gaps.length <= FEW && OPEN
  }><summary>What, and where</summary>${table(
    'Left out, or taken loosely',
    [
      { head: 'Where', cell: ({ at }) => html`<code>${at}</code>` },
      { head: 'What', cell: ({ what }) => what },
    ],
    gaps,
  )}</details></div>`
}

const FEW = 5
const OPEN = html` open`

const about = (service: ServiceJson): Html =>
  facts({
    'Address for callers': html`<code>${service.proxy_url}</code>`,
    'Your server': html`<code>${service.base_url}</code>`,
    'Why it is suspended': service.reason,
    'Last day of sale': service.sunset_on,
    Health: service.health && healthOf(service.health),
    Page:
      service.state === 'active' &&
      html`<a href="/services/${service.slug}">/services/${service.slug}</a>`,
  })

const healthOf = ({
  up,
  since,
  latency_ms: latency,
  detail,
}: NonNullable<ServiceJson['health']>) =>
  up === null
    ? html`<span class="muted">not looked at yet</span>`
    : html`<span class="${up ? 'good' : 'bad'}">${up ? 'up' : 'down'}</span> since ${instantText(
        since,
      )}${latency !== null && `, ${milliseconds(latency)}`}${
        detail !== null && html`, <span class="muted">${detail}</span>`
      }`

/** What may come next, by the state. */
const states = ({ state, missing: open }: ServiceJson): Html | undefined =>
  (state === 'draft' || state === 'paused') && open.length === 0
    ? form({ act: 'activate', submit: state === 'draft' ? 'Activate' : 'Sell again' })
    : state === 'active'
      ? html`<p>${form({ act: 'pause', submit: 'Pause the sale', kind: 'plain' })}</p>`
      : undefined

const pricesPart = (prices: readonly PriceJson[]): Html | undefined =>
  prices.length === 0
    ? undefined
    : fold(
        'Prices so far',
        cardTable(
          'Prices',
          [
            { head: 'Endpoint', cell: ({ method, path }) => html`<code>${method} ${path}</code>` },
            {
              head: 'Price',
              number: true,
              cell: aligned(prices, (each) => each.price_microdollars),
            },
            { head: 'Set', whole: true, cell: ({ set_at: at }) => instantText(at) },
            { head: 'In force from', whole: true, cell: ({ effective_at: at }) => instantText(at) },
            { head: 'State', cell: stateOfPrice },
          ],
          prices,
        ),
      )

function stateOfPrice({ current, withdrawn_at: gone, effective_at: at, set_at: set }: PriceJson) {
  if (current) return html`<span class="badge good">in force</span>`
  if (gone !== null) return html`<span class="muted">withdrawn</span>`
  return html`<span class="muted">${at > set ? 'announced' : 'before'}</span>`
}

function testPart({ endpoints }: ServiceJson, { sent }: PageRequest<unknown>): Html | undefined {
  if (endpoints.length === 0) return undefined
  const { text, select } = fieldsOf('test', sent)
  const names = endpoints.map(({ method, path }) => `${method} ${path}`)
  const fields = form({
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
  })
  const words = html`<p>One call, unpaid; it tells how it would have been charged.</p>`
  return fold('Try it', html`${words}${fields}`, sent?.act === 'test')
}

function secretPart({ secrets, imported }: ServiceJson, { sent }: PageRequest<unknown>): Html {
  const { text } = fieldsOf('secret', sent)
  const [wanted] = secrets.length === 0 ? (imported?.secrets ?? []) : []
  const words = html`<p>A header that the hub adds to each request, so that your server knows it. It
is kept encrypted, and never shown.${
    secrets.length > 0 &&
    html` Now: ${secrets.map(
      (each) => html`<code>${each.name}</code>, set ${instantText(each.set_at)}. `,
    )}`
  }${wanted && html` The document says that requests carry <code>${wanted.name}</code>.`}</p>`
  const fields = form({
    act: 'secret',
    submit: 'Set the secret',
    kind: 'plain',
    fields: [
      text({ name: 'name', label: 'Header', required: true, value: headerOf(wanted), max: 100 }),
      text({
        name: 'value',
        label: 'Value',
        hint: html`All of it: <code>Bearer abc</code>. Left empty: none is sent.`,
      }),
    ],
  })
  return fold('Secret', html`${words}${fields}`, sent?.act === 'secret' || wanted !== undefined)
}

type Wanted = NonNullable<ServiceJson['imported']>['secrets'][number]

const headerOf = (wanted: Wanted | undefined): string =>
  wanted?.in === 'header' ? wanted.name : 'Authorization'

function settings(service: ServiceJson, { sent }: PageRequest<unknown>): Html {
  const { text } = fieldsOf('change', sent)
  const fields = form({
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
  })
  return fold('How it is shown, and where it is', fields, sent?.act === 'change')
}

function ending({ state }: ServiceJson, { sent }: PageRequest<unknown>): Html | undefined {
  if (state !== 'active' && state !== 'paused') return undefined
  const { text, sure } = fieldsOf('retire', sent)
  const fields = form({
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
  })
  const words = html`<p>Announces its end. Callers are told until the day comes.</p>`
  return fold('Retire', html`${words}${fields}`, sent?.act === 'retire')
}
