import { z } from 'zod'
import type { ServiceOfHouseJson } from '../../../rest/admin/services.ts'
import type { Listed } from '../../../rest/paging.ts'
import { ADMIN } from '../../areas.ts'
import { fieldsOf, form } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { address, cardTable, facts, pager } from '../../table.ts'
import { accountLink, balancePath, reason, reasonField } from '../finance/parts.ts'
import { commissionForm, commissionOf, rate, setCommission } from './commission.ts'
import { assignOwner, ownerForm } from './owner.ts'

const PATH = '/admin'
const PAGE = '50'
const CHOICES = { all: 'All', pending: 'Waiting for approval', suspended: 'Suspended' }

/** A provider that listed its services by itself: it is its own owner. */
const MADE = /^p-[0-9a-f]{20}$/

const move = (kind: 'service' | 'provider', what: 'approve' | 'suspend' | 'resume') =>
  act({
    fields: z.object({
      slug: z.string().max(40),
      id: z.string().max(40),
      revision: z.coerce.number().int().positive().optional(),
      reason,
    }),
    run: async ({ ask }, { slug, id, revision, reason: why }) => {
      const body = { reason: why, ...(revision !== undefined && { revision }) }
      await ask(`POST /v1/admin/${kind}s/{id}/${what}`, { params: { id }, body })
      return { to: address(PATH, { slug, done: what }) }
    },
  })

/** `/admin`: everything that is sold; approvals, suspensions and commission. */
export const servicesPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({
      slug: z.string().max(40).default(''),
      only: z.enum(['all', 'pending', 'suspended']).default('all'),
      cursor: z.string().max(500).optional(),
    }),
    acts: {
      approve: move('service', 'approve'),
      suspend: move('service', 'suspend'),
      resume: move('service', 'resume'),
      'suspend-provider': move('provider', 'suspend'),
      'resume-provider': move('provider', 'resume'),
      commission: setCommission(PATH),
      owner: assignOwner(PATH),
    },
    done: {
      approve: 'The service may be sold.',
      suspend: 'It is stopped: within a second nobody can call it.',
      resume: 'It goes on.',
      commission: 'The commission is set.',
      owner: 'They earn with it from now on.',
    },
    show: async (request) => {
      const { slug, only, cursor } = request.query
      return {
        title: 'Services',
        area: ADMIN,
        tab: 'Services',
        main: slug === '' ? await listOf(request, only, cursor) : await oneOf(request, slug),
      }
    },
  })

async function listOf(
  { ask }: PageRequest,
  only: keyof typeof CHOICES,
  cursor: string | undefined,
): Promise<Html> {
  const found = await ask<Listed<ServiceOfHouseJson>>('GET /v1/admin/services', {
    query: { limit: PAGE, only, cursor },
  })
  return html`<h1>Services</h1>
<p class="lead">Everything that is sold here, whoever sells it.</p>
<nav class="choices" aria-label="Which">${Object.entries(CHOICES).map(([value, text]) =>
    value === only
      ? html`<strong aria-current="true">${text}</strong>`
      : html`<a href="${address(PATH, { only: value })}">${text}</a>`,
  )}</nav>${
    found.data.length === 0
      ? empty(only === 'pending' ? 'Nothing waits for approval.' : 'There is none.')
      : serviceTable(found.data)
  }${pager(PATH, { only, cursor }, found.next_cursor)}`
}

const serviceTable = (rows: readonly ServiceOfHouseJson[]): Html =>
  cardTable(
    'Services',
    [
      {
        head: 'Service',
        cell: ({ slug, name }) => html`<a href="${address(PATH, { slug })}">${name}</a><br>
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
      { head: 'Commission', number: true, cell: (each) => rate(each.commission_bps) },
    ],
    rows,
  )

function stateBadge({ suspended, stage, state }: ServiceOfHouseJson): Html {
  if (suspended !== 'no') return html`<span class="badge bad">suspended</span>`
  if (stage === 'pending') return html`<span class="badge fair">waits for approval</span>`
  return html`<span class="badge ${state === 'active' ? 'good' : ''}">${stage ?? state}</span>`
}

async function oneOf(request: PageRequest, slug: string): Promise<Html> {
  const found = await request.ask<Listed<ServiceOfHouseJson>>('GET /v1/admin/services', {
    query: { limit: '1', slug },
  })
  const [service] = found.data
  if (!service) return html`${CRUMBS}<h1>Services</h1>${empty('There is no such service.')}`
  const { suspended, stage } = service
  const isHouse = service.provider === 'agenthub'
  return html`${CRUMBS}<h1>${service.name} ${stateBadge(service)}</h1>${facts({
    Slug: html`<code>${slug}</code>`,
    'Why it is suspended': service.suspended_reason,
    Address: service.base_url !== null && html`<code>${service.base_url}</code>`,
    'Not sold': service.unreadable_secrets.length > 0 && lostText(service),
    Provider: isHouse
      ? service.provider
      : html`${service.provider}, <a href="${balancePath(
          `liabilities:providers:${service.provider}:`,
        )}">what it is owed</a>`,
    Owner: service.owner,
    Commission: rate(service.commission_bps),
    Account: accountLink(
      isHouse ? `income:services:${slug}` : `liabilities:providers:${service.provider}:${slug}`,
    ),
  })}${!isHouse && (await commissionOf(request, service))}<h2>Decisions</h2>${
    stage === 'pending' && deciding(request, service, 'approve', 'Let it be sold', 'Approve')
  }<div class="columns">${
    !isHouse && commissionForm(request, service)
  }${!isHouse && !MADE.test(service.provider) && ownerForm(request, service)}<section>${
    suspended === 'service'
      ? deciding(request, service, 'resume', 'Let the service go on', 'Resume')
      : deciding(request, service, 'suspend', 'Stop the service', 'Suspend')
  }${
    suspended === 'provider'
      ? deciding(request, service, 'resume-provider', 'Let its provider go on', 'Resume all')
      : deciding(request, service, 'suspend-provider', 'Stop all of its provider', 'Suspend all')
  }</section></div>`
}

const CRUMBS = html`<p class="crumbs"><a href="${PATH}">Services</a></p>`

const lostText = ({ unreadable_secrets: lost }: ServiceOfHouseJson): string =>
  `No key of HUB_ENCRYPTION_KEYS opens its secrets: ${lost.join(', ')}.`

function deciding(
  { sent }: PageRequest,
  { slug, provider, revision }: ServiceOfHouseJson,
  name: string,
  title: string,
  submit: string,
): Html {
  const fields = fieldsOf(name, sent)
  const seen = (name === 'approve' || name === 'resume') && revision !== null
  return html`<h3>${title}</h3>${form({
    act: name,
    submit,
    to: address(PATH, { slug }),
    ...(name.startsWith('suspend') && { kind: 'danger' as const }),
    hidden: {
      slug,
      id: name.endsWith('-provider') ? provider : slug,
      ...(seen && { revision: String(revision) }),
    },
    fields: [reasonField(fields)],
  })}`
}
