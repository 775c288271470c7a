import { z } from 'zod'
import type { AdminServiceJson } from '../../../rest/admin/services.ts'
import type { ImpactsJson } from '../../../rest/admin/suspension-impact.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { dialogPath, dialogs, rowMenu } from '../../dialog.ts'
import { viewSwitch } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ADMIN_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, definitionList, pager, shortHash, withQuery } from '../../table.ts'
import { accountLink, balancePath, reason } from '../finance/components.ts'
import { commissionHistory, formatRate, setCommission } from './commission.ts'
import { decideName, waitingNames } from './provider-names.ts'
import { decisionDialogs, FIRST_PARTY, PATH, reviewPart } from './service-decisions.ts'

const PAGE_SIZE = '50'
const VIEWS = { all: 'All', pending: 'Awaiting approval', suspended: 'Suspended' }

type Decision = 'approve' | 'refuse' | 'suspend' | 'resume'

const stageAction = (kind: 'service' | 'provider', decision: Decision) =>
  formAction({
    fields: z.object({
      slug: z.string().max(40),
      id: z.string().max(40),
      version: z.coerce.number().int().positive().optional(),
      reason,
    }),
    run: async ({ api }, { slug, id, version, reason: why }) => {
      const body = { reason: why, ...(version !== undefined && { version }) }
      await api(`POST /v1/admin/${kind}s/{id}/${decision}`, { params: { id }, body })
      return { to: withQuery(PATH, { slug, done: decision }) }
    },
  })

const setOwner = formAction({
  fields: z.object({
    slug: z.string().max(40),
    id: z.string().max(40),
    name: z.string().trim().min(3, 'enter a wallet or an email address').max(254),
    reason,
  }),
  run: async ({ api }, { slug, id, name, reason: why }) => {
    const body = { name, reason: why }
    await api('POST /v1/admin/providers/{id}/owner', { params: { id }, body })
    return { to: withQuery(PATH, { slug, done: 'owner' }) }
  },
})

/** `/admin`: all services, with approval, suspension, owner and commission. */
export const servicesPage = (): AnyPage =>
  page(PATH, {
    query: z.object({
      slug: z.string().max(40).default(''),
      /** Dialog that is open. */
      edit: z.string().max(20).optional(),
      only: z.enum(['all', 'pending', 'suspended']).default('all'),
      cursor: z.string().max(500).optional(),
    }),
    actions: {
      approve: stageAction('service', 'approve'),
      refuse: stageAction('service', 'refuse'),
      suspend: stageAction('service', 'suspend'),
      resume: stageAction('service', 'resume'),
      'suspend-provider': stageAction('provider', 'suspend'),
      'resume-provider': stageAction('provider', 'resume'),
      commission: setCommission(PATH),
      owner: setOwner,
      'approve-name': decideName('approve'),
      'refuse-name': decideName('refuse'),
    },
    notices: {
      approve: 'Version approved. Callers see it within a second.',
      refuse: 'Version refused. Its provider sees your reason.',
      suspend: 'Suspended. Calls are rejected within a second.',
      'approve-name': 'Name approved. Buyers see it now.',
      'refuse-name': 'Name refused. Its provider sees your reason.',
      resume: 'Resumed.',
      commission: 'Commission set.',
      owner: 'Owner set. New earnings go to them.',
    },
    render: async (request) => {
      const { slug, only, cursor, edit } = request.query
      return {
        title: 'Services',
        tabs: ADMIN_TABS,
        main:
          slug === ''
            ? await listPart(request, only, cursor)
            : await servicePart(request, slug, edit),
      }
    },
  })

async function listPart(
  request: PageRequest,
  only: keyof typeof VIEWS,
  cursor: string | undefined,
): Promise<Html> {
  const [found, names] = await Promise.all([
    request.api<ListPage<AdminServiceJson>>('GET /v1/admin/services', {
      query: { limit: PAGE_SIZE, only, cursor },
    }),
    only === 'pending' ? waitingNames(request) : undefined,
  ])
  return html`<h1>Services</h1>
<p class="lead">Services of all providers.</p>
${viewSwitch('View', VIEWS, only, (view) => withQuery(PATH, { only: view }))}${
  found.data.length === 0
    ? emptyState(only === 'pending' ? 'No services await approval.' : 'No services in this view.')
    : serviceTable(found.data)
}${pager(PATH, { only, cursor }, found.next_cursor)}${names}`
}

const serviceTable = (rows: readonly AdminServiceJson[]): Html =>
  cardTable(
    'Services',
    [
      {
        head: 'Service',
        cell: ({ slug, name }) => html`<a href="${withQuery(PATH, { slug })}">${name}</a><br>
<code class="small">${slug}</code>`,
      },
      { head: 'State', cell: (each) => stateBadge(each) },
      {
        head: 'Provider',
        cell: ({ provider, owner }) =>
          html`${owner?.startsWith('0x') ? shortHash(owner) : (owner ?? provider)}${
            owner !== null && html`<br><span class="small muted">${provider}</span>`
          }`,
      },
      { head: 'Commission', number: true, cell: (each) => formatRate(each.commission_bps) },
      { head: 'Actions', cell: serviceMenu },
    ],
    rows,
  )

function serviceMenu(service: AdminServiceJson): Html {
  const { slug, name, provider, suspended, waiting, state } = service
  const edit = (dialog: string, text: string) =>
    html`<a href="${dialogPath(PATH, dialog, { slug })}">${text}</a>`
  return rowMenu(`menu-${slug}`, name, [
    waiting && html`<a href="${withQuery(PATH, { slug })}#review">Review</a>`,
    provider !== FIRST_PARTY && edit('commission', 'Commission'),
    suspended === 'service' ? edit('resume', 'Resume') : edit('suspend', 'Suspend'),
    provider !== FIRST_PARTY &&
      html`<a href="${balancePath(`liabilities:providers:${provider}:`)}">Balance owed</a>`,
    state === 'active' && html`<a href="/services/${slug}">Public page</a>`,
  ])
}

function stateBadge({ suspended, stage, state, waiting }: AdminServiceJson): Html {
  if (suspended !== 'no') return html`<span class="badge bad">suspended</span>`
  if (waiting) return html`<span class="badge fair">awaiting approval</span>`
  return html`<span class="badge ${state === 'active' ? 'good' : ''}">${stage ?? state}</span>`
}

async function servicePart(
  request: PageRequest,
  slug: string,
  edit: string | undefined,
): Promise<Html> {
  const found = await request.api<ListPage<AdminServiceJson>>('GET /v1/admin/services', {
    query: { limit: '1', slug },
  })
  const [service] = found.data
  if (!service)
    return html`${BREADCRUMB}<h1>Services</h1>${emptyState('No service has this slug.')}`
  const impacts = await request.api<ImpactsJson>('GET /v1/admin/services/{id}/impact', {
    params: { id: slug },
  })
  const isFirstParty = service.provider === FIRST_PARTY
  return html`${BREADCRUMB}<h1>${service.name} ${stateBadge(service)}</h1>${definitionList({
    Slug: html`<code>${slug}</code>`,
    'Reason for suspension': service.suspended_reason,
    'Upstream URL': service.base_url !== null && html`<code>${service.base_url}</code>`,
    'Not on sale': service.unreadable_secrets.length > 0 && unreadableSecretsText(service),
    Provider: isFirstParty
      ? service.provider
      : html`${service.provider}, <a href="${balancePath(
          `liabilities:providers:${service.provider}:`,
        )}">balance owed</a>`,
    Owner: service.owner,
    Commission: formatRate(service.commission_bps),
    Account: accountLink(
      isFirstParty
        ? `income:services:${slug}`
        : `liabilities:providers:${service.provider}:${slug}`,
    ),
  })}${!isFirstParty && (await commissionHistory(request, service))}${await reviewPart(
    request,
    service,
  )}${dialogs(
    decisionDialogs(request, service, impacts),
    withQuery(PATH, { slug }),
    request.submission?.act ?? edit,
  )}`
}

const BREADCRUMB = html`<p class="breadcrumb"><a href="${PATH}">Services</a></p>`

const unreadableSecretsText = ({ unreadable_secrets: names }: AdminServiceJson): string =>
  `No key of HUB_ENCRYPTION_KEYS decrypts its secrets: ${names.join(', ')}.`
