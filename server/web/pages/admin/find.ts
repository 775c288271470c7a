import { z } from 'zod'
import type { FoundAccountsJson } from '../../../rest/admin/find.ts'
import { filterBar, textFilter } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ADMIN_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { cardTable, withQuery } from '../../table.ts'
import { balancePath } from '../finance/components.ts'

type Found = FoundAccountsJson['data'][number]

const PATH = '/admin/find'
const MIN_LENGTH = 3
const KINDS = { user: 'User', provider: 'Provider', key: 'Key' } as const

/** `/admin/find?q=…`: users, providers and keys by id, email address or wallet. */
export const findPage = (): AnyPage =>
  page(PATH, {
    query: z.object({ q: z.string().trim().max(254).default('') }),
    render: async ({ api, query: { q } }) => ({
      title: 'Find',
      tabs: ADMIN_TABS,
      main: html`<h1>Find</h1><p class="lead">Users, providers and keys. Enter part of an email
address or provider id, or a whole wallet address or key id.</p>${filterBar(PATH, [
        textFilter('q', 'Email, wallet or id', q, 30),
      ])}${
        q.length < MIN_LENGTH
          ? emptyState(`Enter at least ${MIN_LENGTH} characters.`)
          : resultTable((await api<FoundAccountsJson>('GET /v1/admin/find', { query: { q } })).data)
      }`,
    }),
  })

const resultTable = (rows: readonly Found[]): Html =>
  rows.length === 0
    ? emptyState('No user, provider or key found.')
    : cardTable(
        'Results',
        [
          { head: 'Kind', cell: ({ kind }) => KINDS[kind] },
          { head: 'Id', cell: linkOf },
          { head: 'Name', cell: ({ name }) => name ?? '–' },
          {
            head: 'State',
            cell: ({ active }) =>
              html`<span class="badge ${active ? 'good' : 'bad'}">${
                active ? 'active' : 'stopped'
              }</span>`,
          },
        ],
        rows,
      )

/** Keys link to their state, providers to what they are owed, users to their keys and providers. */
const linkOf = ({ kind, id }: Found): Html => {
  const text = html`<code class="soft-breaks">${id}</code>`
  if (kind === 'key') return html`<a href="${withQuery('/admin/keys', { key: id })}">${text}</a>`
  return kind === 'provider'
    ? html`<a href="${balancePath(`liabilities:providers:${id}:`)}">${text}</a>`
    : html`<a href="${withQuery(PATH, { q: id })}">${text}</a>`
}
