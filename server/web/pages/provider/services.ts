import { z } from 'zod'
import type { Listed } from '../../../rest/paging.ts'
import type { ServiceRow, ServiceView } from '../../../rest/provider/services-view.ts'
import { SELLING } from '../../areas.ts'
import { FILE_SCRIPT } from '../../assets.ts'
import { ifGiven, lines, optionalDollars } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { day } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type Act, type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { cardTable, pager } from '../../table.ts'

export type ServiceRowJson = z.infer<typeof ServiceRow>
export type ServiceJson = z.infer<typeof ServiceView>

const PATH = '/provider/services'

interface Imported {
  readonly service: { readonly slug: string }
  readonly understood: { readonly left_out: number }
}

const ACTS: Readonly<Record<string, Act>> = {
  import: act({
    fields: z.object({
      url: ifGiven,
      openapi: ifGiven,
      only: lines,
      slug: z.string().trim(),
      base_url: ifGiven,
      price: optionalDollars,
    }),
    run: async ({ ask }, { price, ...body }) => {
      const made = await ask<Imported>('POST /v1/provider/services/import', {
        body: { ...body, price_microdollars: price ?? undefined },
      })
      const done = made.understood.left_out > 0 ? 'imported-part' : 'imported'
      return { to: `${PATH}/${made.service.slug}?done=${done}` }
    },
  }),
  list: act({
    fields: z.object({
      slug: z.string().trim(),
      name: z.string().trim(),
      category: z.string().trim(),
      summary: z.string().trim(),
      base_url: z.string().trim(),
    }),
    run: async ({ ask }, body) => {
      const made = await ask<ServiceJson>('POST /v1/provider/services', { body })
      return { to: `${PATH}/${made.slug}?done=listed` }
    },
  }),
}

/** `/provider/services`: APIs that are listed without code, and a new one. */
export const servicesPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({ cursor: z.string().max(500).optional() }),
    acts: ACTS,
    show: async (request) => {
      const { ask, query } = request
      const services = await ask<Listed<ServiceRowJson>>('GET /v1/provider/services', { query })
      return {
        title: 'APIs',
        area: SELLING,
        tab: 'APIs',
        scripts: [FILE_SCRIPT],
        main: html`<h1>APIs</h1><p class="lead">Sell an HTTP API that you have, without code: the
hub takes the money, checks the input, and asks your server.</p>${
          services.data.length === 0
            ? empty('No API is listed yet. An OpenAPI document is the quickest way.')
            : html`${serviceTable(services.data)}${pager(PATH, query, services.next_cursor)}`
        }${importForm(request)}${listForm(request)}`,
      }
    },
  })

const serviceTable = (services: readonly ServiceRowJson[]): Html =>
  cardTable(
    'APIs',
    [
      {
        head: 'API',
        cell: ({ slug, name }) => html`<a href="${PATH}/${slug}">${name}</a>`,
      },
      { head: 'State', cell: serviceBadge },
      { head: 'Slug', cell: ({ slug }) => html`<code>${slug}</code>` },
      { head: 'Your server', cell: (each) => html`<code>${each.base_url}</code>` },
      { head: 'Since', whole: true, cell: (each) => day(each.created_at) },
    ],
    services,
  )

const GRADES: Readonly<Record<ServiceRowJson['state'], string>> = {
  draft: '',
  pending: 'fair',
  active: 'good',
  paused: 'fair',
  suspended: 'bad',
  retired: 'bad',
}

export const serviceBadge = ({ state }: Pick<ServiceRowJson, 'state'>): Html =>
  html`<span class="badge ${GRADES[state]}">${
    state === 'pending' ? 'waits for approval' : state
  }</span>`

const SLUG_HINT = 'Part of the address where it is called: letters, digits and hyphens.'

const DOCUMENT_HINT = 'JSON or YAML. One of more than 200 KB comes by its address.'
const DOCUMENT_FILE = {
  accept: '.json,.yaml,.yml',
  maxBytes: 200_000,
  else: 'It has more than 200 KB: give the address of the document instead.',
}

function importForm({ sent }: PageRequest<unknown>): Html {
  const { text } = fieldsOf('import', sent)
  return html`<h2>From an OpenAPI document</h2><p>It becomes a draft, which nobody sees: you look at
endpoints and prices before it is sold.</p>${form({
    act: 'import',
    submit: 'Import',
    fields: [
      text({ name: 'slug', label: 'Slug', required: true, max: 40, hint: SLUG_HINT }),
      text({
        name: 'url',
        label: 'Address of the document',
        type: 'url',
        placeholder: 'https://api.example.com/openapi.json',
      }),
      text({
        name: 'openapi',
        label: 'Or the document itself',
        lines: 6,
        file: DOCUMENT_FILE,
        hint: DOCUMENT_HINT,
      }),
      text({
        name: 'only',
        label: 'Only',
        lines: 3,
        hint: html`What of it, one a line: a tag, a path and all below it, or
<code>GET /weather</code>. Left empty: the first 100 endpoints.`,
      }),
      text({
        name: 'base_url',
        label: 'Where the API is',
        type: 'url',
        hint: 'Left empty: the first server that the document names.',
      }),
      text({
        name: 'price',
        label: 'Price of a call, in dollars',
        numeric: true,
        size: 10,
        hint: html`For endpoints that name none themselves (<code>x-payment-info</code>).`,
      }),
    ],
  })}`
}

function listForm({ sent }: PageRequest<unknown>): Html {
  const { text } = fieldsOf('list', sent)
  return html`<h2>By hand</h2>${form({
    act: 'list',
    submit: 'Make a draft',
    kind: 'plain',
    fields: [
      text({ name: 'slug', label: 'Slug', required: true, max: 40, hint: SLUG_HINT }),
      text({ name: 'name', label: 'Name', required: true, max: 100 }),
      text({ name: 'category', label: 'Category', required: true, max: 40, value: 'data' }),
      text({
        name: 'summary',
        label: 'Summary',
        required: true,
        max: 500,
        hint: 'What it does, for whom: searches look here.',
      }),
      text({
        name: 'base_url',
        label: 'Where the API is',
        type: 'url',
        required: true,
        placeholder: 'https://api.example.com/v2',
      }),
    ],
  })}`
}
