import { z } from 'zod'
import type { ListPage } from '../../../rest/paging.ts'
import type { DomainJson } from '../../../rest/provider/domains/index.ts'
import { dialogPath, rowMenu } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { textOrUndefined } from '../../form-schemas.ts'
import { dayOf } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { SELLING_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, page } from '../../page.ts'
import { cardTable, pager } from '../../table.ts'

const PATH = '/provider/domains'

/** `/provider/domains`: domains whose pages are sold, and the form that adds one. */
export const domainsPage = (): AnyPage =>
  page(PATH, {
    query: z.object({ cursor: z.string().max(500).optional() }),
    actions: {
      add: formAction({
        fields: z.object({
          domain: z.string().trim(),
          name: textOrUndefined,
          slug: textOrUndefined,
        }),
        run: async ({ api }, body) => {
          const domain = await api<DomainJson>('POST /v1/domains', { body })
          return { to: `${PATH}/${domain.domain_id}?done=added` }
        },
      }),
    },
    notices: { deleted: 'Domain deleted. You keep what it earned.' },
    render: async ({ api, query, submission }) => {
      const domains = await api<ListPage<DomainJson>>('GET /v1/domains', { query })
      const { text } = formFields('add', submission)
      return {
        title: 'Domains',
        tabs: SELLING_TABS,
        main: html`<h1>Domains</h1><p class="lead">Sell pages of your website to agents. They get
clean text; you get paid per page.</p>${
          domains.data.length === 0
            ? emptyState('No domains yet.')
            : html`${domainTable(domains.data)}${pager(PATH, query, domains.next_cursor)}`
        }<h2>Add a domain</h2>${form({
          act: 'add',
          submit: 'Add domain',
          fields: [
            text({
              name: 'domain',
              label: 'Domain',
              required: true,
              max: 300,
              placeholder: 'example.com',
              hint: 'Host of the pages. In the next step you prove that you own it.',
            }),
            text({ name: 'name', label: 'Name', max: 100, hint: 'Name shown in lists.' }),
            text({
              name: 'slug',
              label: 'Slug',
              max: 40,
              hint: 'Part of the URL of your pages. Leave empty to derive it from the domain.',
            }),
          ],
        })}`,
      }
    },
  })

const domainTable = (domains: readonly DomainJson[]): Html =>
  cardTable(
    'Domains',
    [
      {
        head: 'Domain',
        cell: ({ domain_id: id, domain }) => html`<a href="${PATH}/${id}">${domain}</a>`,
      },
      { head: 'State', cell: domainBadge },
      { head: 'Service', cell: ({ slug }) => slug !== null && html`<code>${slug}</code>` },
      { head: 'Added', noWrap: true, cell: ({ created_at: at }) => dayOf(at) },
      { head: 'Actions', cell: domainMenu },
    ],
    domains,
  )

function domainMenu({ domain_id: id, domain, state }: DomainJson): Html {
  const path = `${PATH}/${id}`
  return rowMenu(`menu-${id}`, domain, [
    html`<a href="${path}#rules">Price rules</a>`,
    state !== 'pending' && html`<a href="${path}#earnings">Earnings</a>`,
    html`<a href="${dialogPath(path, 'change')}">Listing details</a>`,
    html`<a href="${dialogPath(path, 'delete')}">Delete</a>`,
  ])
}

const BADGES: Readonly<Record<DomainJson['state'], string>> = {
  pending: 'fair',
  verified: 'good',
  expired: 'bad',
  transferred: 'bad',
  deleted: '',
}

/** Verification state of a domain, and whether its sales are stopped. */
export const domainBadge = ({ state, selling }: DomainJson): Html =>
  html`<span class="badge ${BADGES[state]}">${state === 'pending' ? 'unverified' : state}</span>${
    state === 'verified' && !selling && html` <span class="badge">sales stopped</span>`
  }`
