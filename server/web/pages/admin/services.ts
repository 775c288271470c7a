import { z } from 'zod'
import type { AdminServiceJson } from '../../../rest/admin/services.ts'
import type { ImpactsJson } from '../../../rest/admin/suspension-impact.ts'
import type { ListPage } from '../../../rest/paging.ts'
import type { ReviewJson } from '../../../rest/review-view.ts'
import { form, formFields, viewSwitch } from '../../form.ts'
import { formatDollars, pluralize } from '../../format.ts'
import { type Html, type HtmlPart, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ADMIN_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { reviewSummary } from '../../review.ts'
import { cardTable, definitionList, pager, withQuery } from '../../table.ts'
import { accountLink, balancePath, reason, reasonField } from '../finance/components.ts'
import { commissionForm, commissionHistory, formatRate, setCommission } from './commission.ts'
import { decideName, waitingNames } from './provider-names.ts'

const PATH = '/admin'
const PAGE_SIZE = '50'
const VIEWS = { all: 'All', pending: 'Awaiting approval', suspended: 'Suspended' }

/** Ids of self-registered providers, which own themselves. */
const SELF_REGISTERED = /^p-[0-9a-f]{20}$/

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
      const { slug, only, cursor } = request.query
      return {
        title: 'Services',
        tabs: ADMIN_TABS,
        main:
          slug === '' ? await listPart(request, only, cursor) : await servicePart(request, slug),
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
          html`${owner ?? provider}${
            owner !== null && html`<br><span class="small muted">${provider}</span>`
          }`,
      },
      { head: 'Commission', number: true, cell: (each) => formatRate(each.commission_bps) },
    ],
    rows,
  )

function stateBadge({ suspended, stage, state, waiting }: AdminServiceJson): Html {
  if (suspended !== 'no') return html`<span class="badge bad">suspended</span>`
  if (waiting) return html`<span class="badge fair">awaiting approval</span>`
  return html`<span class="badge ${state === 'active' ? 'good' : ''}">${stage ?? state}</span>`
}

async function servicePart(request: PageRequest, slug: string): Promise<Html> {
  const found = await request.api<ListPage<AdminServiceJson>>('GET /v1/admin/services', {
    query: { limit: '1', slug },
  })
  const [service] = found.data
  if (!service)
    return html`${BREADCRUMB}<h1>Services</h1>${emptyState('No service has this slug.')}`
  const impacts = await request.api<ImpactsJson>('GET /v1/admin/services/{id}/impact', {
    params: { id: slug },
  })
  const { suspended } = service
  const isFirstParty = service.provider === 'agenthub'
  const hasOwnerForm = !isFirstParty && !SELF_REGISTERED.test(service.provider)
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
  )}<h2>Decisions</h2><div class="columns">${
    !isFirstParty && commissionForm(request, service)
  }${hasOwnerForm && ownerForm(request, service)}<section>${
    suspended === 'service'
      ? decisionForm(request, service, 'resume', 'Resume service', 'Resume')
      : html`${decisionForm(request, service, 'suspend', 'Suspend service', 'Suspend')}${impactText(
          impacts.service,
          impacts.days,
        )}`
  }${
    suspended === 'provider'
      ? decisionForm(request, service, 'resume-provider', 'Resume provider', 'Resume all')
      : html`${decisionForm(
          request,
          service,
          'suspend-provider',
          'Suspend provider',
          'Suspend all',
        )}${impactText(impacts.provider, impacts.days)}`
  }</section></div>`
}

/** States what a suspension stops. */
function impactText({ services, ...recent }: ImpactsJson['service'], days: number): Html {
  const calls = pluralize(recent.calls, 'call')
  const callers = pluralize(recent.callers, 'caller')
  const charged = formatDollars(recent.charged_microdollars)
  return html`<p class="small muted">Stops ${pluralize(services, 'service')}. Last ${days} days:
${calls} by ${callers}, who paid ${charged}.</p>`
}

/** Changes of the waiting version, and the forms that decide on it. */
async function reviewPart(request: PageRequest, service: AdminServiceJson): Promise<HtmlPart> {
  if (!service.waiting) return undefined
  const params = { id: service.slug }
  const review = await request.api<ReviewJson>('GET /v1/admin/services/{id}/review', { params })
  return html`<h2>Review</h2>${reviewSummary(review)}<div class="columns"><section>${decisionForm(
    request,
    service,
    'approve',
    'Approve version',
    'Approve',
  )}</section><section>${decisionForm(
    request,
    service,
    'refuse',
    'Refuse version',
    'Refuse',
  )}</section></div>`
}

const BREADCRUMB = html`<p class="breadcrumb"><a href="${PATH}">Services</a></p>`

const unreadableSecretsText = ({ unreadable_secrets: names }: AdminServiceJson): string =>
  `No key of HUB_ENCRYPTION_KEYS decrypts its secrets: ${names.join(', ')}.`

function decisionForm(
  { submission }: PageRequest,
  { slug, provider, version }: AdminServiceJson,
  name: string,
  title: string,
  submit: string,
): Html {
  const fields = formFields(name, submission)
  const sendsVersion = /^(?:approve|refuse|resume)$/.test(name) && version !== null
  return html`<h3>${title}</h3>${form({
    act: name,
    submit,
    to: withQuery(PATH, { slug }),
    ...(/^(?:suspend|refuse)/.test(name) && { kind: 'danger' as const }),
    hidden: {
      slug,
      id: name.endsWith('-provider') ? provider : slug,
      ...(sendsVersion && { version: String(version) }),
    },
    fields: [reasonField(fields)],
  })}`
}

/** Form that sets who owns the provider of a plugin's service and so earns from it. */
function ownerForm({ submission }: PageRequest, service: AdminServiceJson): Html {
  const { slug, provider } = service
  const fields = formFields('owner', submission)
  return html`<section><h3>Owner</h3>${form({
    act: 'owner',
    submit: 'Set owner',
    to: withQuery(PATH, { slug }),
    hidden: { slug, id: provider },
    fields: [
      fields.text({
        name: 'name',
        label: 'Wallet or email address',
        hint: `Earns from ${provider}, sees its sales and sets its payout address.`,
        required: true,
        max: 254,
      }),
      reasonField(fields),
    ],
  })}</section>`
}
