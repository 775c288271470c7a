import { z } from 'zod'
import type { ListPage } from '../../../rest/paging.ts'
import type { ServiceRowView, ServiceView } from '../../../rest/provider/services/view.ts'
import { FILE_SCRIPT } from '../../assets.ts'
import { rowMenu } from '../../dialog.ts'
import { foldedFields, form, formFields } from '../../form.ts'
import { lineList, optionalDollars, optionalWhole, textOrUndefined } from '../../form-schemas.ts'
import { dayOf } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { SELLING_TABS } from '../../navigation.ts'
import {
  type AnyPage,
  type FormAction,
  formAction,
  type PageRequest,
  page,
  type Submission,
} from '../../page.ts'
import { cardTable, pager, withQuery } from '../../table.ts'

export type ServiceRowJson = z.infer<typeof ServiceRowView>
export type ServiceJson = z.infer<typeof ServiceView>

const PATH = '/provider/services'

interface ImportJson {
  readonly service: { readonly slug: string }
  readonly understood: { readonly left_out: number }
}

const ACTIONS: Readonly<Record<string, FormAction>> = {
  import: formAction({
    fields: z.object({
      url: textOrUndefined,
      openapi: textOrUndefined,
      only: lineList,
      slug: z.string().trim(),
      base_url: textOrUndefined,
      price: optionalDollars,
      deadline_seconds: optionalWhole,
      max_bytes: optionalWhole,
    }),
    run: async ({ api }, { price, ...body }) => {
      const created = await api<ImportJson>('POST /v1/provider/services/import', {
        body: { ...body, price_microdollars: price ?? undefined },
      })
      const done = created.understood.left_out > 0 ? 'imported-part' : 'imported'
      return { to: `${PATH}/${created.service.slug}?done=${done}` }
    },
  }),
  list: formAction({
    fields: z.object({
      slug: z.string().trim(),
      name: z.string().trim(),
      category: z.string().trim(),
      summary: z.string().trim(),
      base_url: z.string().trim(),
    }),
    run: async ({ api }, body) => {
      const created = await api<ServiceJson>('POST /v1/provider/services', { body })
      return { to: `${PATH}/${created.slug}?done=listed` }
    },
  }),
}

/** `/provider/services`: upstream APIs, and the forms that add one. */
export const servicesPage = (): AnyPage =>
  page(PATH, {
    query: z.object({ cursor: z.string().max(500).optional() }),
    actions: ACTIONS,
    render: async (request) => {
      const { api, query } = request
      const services = await api<ListPage<ServiceRowJson>>('GET /v1/provider/services', { query })
      return {
        title: 'APIs',
        tabs: SELLING_TABS,
        scripts: [FILE_SCRIPT],
        main: html`<h1>APIs</h1><p class="lead">Sell an existing HTTP API without code: the hub
collects payments, validates input and calls your server.</p>${
          services.data.length === 0
            ? emptyState(
                'No APIs yet. Importing an OpenAPI document is the quickest way to add one.',
              )
            : html`${serviceTable(services.data)}${pager(PATH, query, services.next_cursor)}`
        }${importForm(request)}${listForm(request)}`,
      }
    },
  })

const serviceTable = (services: readonly ServiceRowJson[]): Html =>
  cardTable(
    'APIs',
    [
      { head: 'API', cell: ({ slug, name }) => html`<a href="${PATH}/${slug}">${name}</a>` },
      { head: 'State', cell: serviceBadge },
      { head: 'Slug', cell: ({ slug }) => html`<code>${slug}</code>` },
      { head: 'Upstream URL', cell: (each) => html`<code>${each.base_url}</code>` },
      { head: 'Added', noWrap: true, cell: (each) => dayOf(each.created_at) },
      { head: 'Actions', cell: serviceMenu },
    ],
    services,
  )

function serviceMenu({ slug, name, state }: ServiceRowJson): Html {
  const path = `${PATH}/${slug}`
  return rowMenu(`menu-${slug}`, name, [
    html`<a href="${path}#endpoints">Endpoints and prices</a>`,
    html`<a href="${path}#test">Test calls</a>`,
    html`<a href="${path}#credential">Upstream credential</a>`,
    html`<a href="${withQuery('/provider/statistics', { service: slug })}">Statistics</a>`,
    state === 'active' && html`<a href="/services/${slug}">Page in the catalog</a>`,
  ])
}

const BADGES: Readonly<Record<ServiceRowJson['state'], string>> = {
  draft: '',
  pending: 'fair',
  active: 'good',
  paused: 'fair',
  suspended: 'bad',
  retired: 'bad',
}

export const serviceBadge = ({ state }: Pick<ServiceRowJson, 'state'>): Html =>
  html`<span class="badge ${BADGES[state]}">${
    state === 'pending' ? 'awaiting approval' : state
  }</span>`

const SLUG_HINT = 'Part of the URL where it is called: letters, digits and hyphens.'

const DOCUMENT_HINT = 'JSON or YAML, up to 200 KB. For a larger document, enter its URL.'
const DOCUMENT_FILE = {
  accept: '.json,.yaml,.yml',
  maxBytes: 200_000,
  tooLarge: 'This file is larger than 200 KB. Enter the URL of the document instead.',
}

function importForm({ submission }: PageRequest<unknown>): Html {
  const { text } = formFields('import', submission)
  return html`<h2>Import an OpenAPI document</h2><p>Creates a draft that only you can see. Review
endpoints and prices before you activate it.</p>${form({
    act: 'import',
    submit: 'Import',
    fields: [
      text({ name: 'slug', label: 'Slug', required: true, max: 40, hint: SLUG_HINT }),
      text({
        name: 'url',
        label: 'Document URL',
        type: 'url',
        placeholder: 'https://api.example.com/openapi.json',
      }),
      text({
        name: 'openapi',
        label: 'Or paste the document',
        lines: 6,
        file: DOCUMENT_FILE,
        hint: DOCUMENT_HINT,
      }),
      text({
        name: 'price',
        label: 'Price per call (USD)',
        numeric: true,
        size: 10,
        hint: html`For endpoints without a price of their own (<code>x-payment-info</code>).`,
      }),
      foldedFields('More options', importOptions(submission), submission?.act === 'import'),
    ],
  })}`
}

/** Optional fields of an import: which endpoints, and how they are called. */
function importOptions(submission: Submission | undefined): readonly Html[] {
  const { text } = formFields('import', submission)
  return [
    text({
      name: 'only',
      label: 'Endpoints',
      lines: 3,
      hint: html`One per line: a tag, a path prefix, or an operation such as
<code>GET /weather</code>. Leave empty to import the first 100 endpoints.`,
    }),
    text({
      name: 'base_url',
      label: 'Upstream URL',
      type: 'url',
      hint: 'Leave empty to use the first server of the document.',
    }),
    text({
      name: 'deadline_seconds',
      label: 'Deadline (seconds)',
      numeric: true,
      size: 10,
      hint: 'A call that takes longer is refunded. Leave empty for 30.',
    }),
    text({
      name: 'max_bytes',
      label: 'Largest response (bytes)',
      numeric: true,
      size: 10,
      hint: 'Leave empty for 1,048,576.',
    }),
  ]
}

function listForm({ submission }: PageRequest<unknown>): Html {
  const { text } = formFields('list', submission)
  return html`<h2>Add manually</h2>${form({
    act: 'list',
    submit: 'Create draft',
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
        hint: 'What it does and for whom. Used by search.',
      }),
      text({
        name: 'base_url',
        label: 'Upstream URL',
        type: 'url',
        required: true,
        placeholder: 'https://api.example.com/v2',
      }),
    ],
  })}`
}
