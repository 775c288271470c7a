import { z } from 'zod'
import type { Listed } from '../../../rest/paging.ts'
import type { DomainJson } from '../../../rest/provider/domains.ts'
import { SELLING } from '../../areas.ts'
import { ifGiven } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { day } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, page } from '../../page.ts'
import { cardTable, pager } from '../../table.ts'

const PATH = '/provider/domains'

/** `/provider/domains`: sites whose pages are sold, and a new one. */
export const domainsPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({ cursor: z.string().max(500).optional() }),
    acts: {
      add: act({
        fields: z.object({ domain: z.string().trim(), name: ifGiven, slug: ifGiven }),
        run: async ({ ask }, body) => {
          const made = await ask<DomainJson>('POST /v1/domains', { body })
          return { to: `${PATH}/${made.domain_id}?done=added` }
        },
      }),
    },
    done: { deleted: 'The domain is not sold any more. What it earned stays yours.' },
    show: async ({ ask, query, sent }) => {
      const domains = await ask<Listed<DomainJson>>('GET /v1/domains', { query })
      const { text } = fieldsOf('add', sent)
      return {
        title: 'Domains',
        area: SELLING,
        tab: 'Domains',
        main: html`<h1>Domains</h1><p class="lead">Sell the pages of a site of yours to agents, by
the piece. They get clean text; you get the price of each page.</p>${
          domains.data.length === 0
            ? empty('No domain is registered yet.')
            : html`${domainTable(domains.data)}${pager(PATH, query, domains.next_cursor)}`
        }<h2>Add a domain</h2>${form({
          act: 'add',
          submit: 'Add',
          fields: [
            text({
              name: 'domain',
              label: 'Domain',
              required: true,
              max: 300,
              placeholder: 'example.com',
              hint: 'The host whose pages are sold. You prove in the next step that it is yours.',
            }),
            text({ name: 'name', label: 'Name', max: 100, hint: 'As lists show it.' }),
            text({
              name: 'slug',
              label: 'Slug',
              max: 40,
              hint: 'Part of the address where pages are bought. Left empty: made of the domain.',
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
      { head: 'Added', whole: true, cell: ({ created_at: at }) => day(at) },
    ],
    domains,
  )

const GRADES: Readonly<Record<DomainJson['state'], string>> = {
  pending: 'fair',
  verified: 'good',
  expired: 'bad',
  transferred: 'bad',
  deleted: '',
}

/** Whether a domain is proven, and sold. */
export const domainBadge = ({ state, selling }: DomainJson): Html =>
  html`<span class="badge ${GRADES[state]}">${state === 'pending' ? 'to be proven' : state}</span>${
    state === 'verified' && !selling && html` <span class="badge">opted out</span>`
  }`
