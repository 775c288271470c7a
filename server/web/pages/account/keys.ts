import { z } from 'zod'
import type { KeyJson, SecretJson } from '../../../rest/account/keys.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { dialogPath, rowMenu } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { optionalText } from '../../form-schemas.ts'
import { alignedFormatter, formatDollars, formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, pager, timeAgo, withQuery } from '../../table.ts'

const PAGE_SIZE = '100'

/** Creates a main key and shows its secret once. */
export const createKey = formAction({
  fields: z.object({ name: optionalText(100) }),
  run: async ({ api }, body) => {
    const created = await api<SecretJson>('POST /v1/keys', { body })
    return { to: `/account/keys/${created.key_id}?done=made`, secret: created.api_key }
  },
})

/** `/account/keys`: all keys of the account as a tree, and the form that creates a main key. */
export const keysPage = (): AnyPage =>
  page('/account/keys', {
    query: z.object({ cursor: z.string().max(500).optional() }),
    actions: { make: createKey },
    render: async (request) => {
      const { cursor } = request.query
      const keys = await request.api<ListPage<KeyJson>>('GET /v1/keys', {
        query: { limit: PAGE_SIZE, cursor },
      })
      return {
        title: 'Keys',
        tabs: ACCOUNT_TABS,
        main: html`<h1>Keys</h1><p class="lead">Main keys hold credits. Sub-keys spend from them,
within the limits you set.</p>${
          keys.data.length === 0
            ? emptyState('No keys yet. Create your first key below.')
            : html`${keyTable(keys.data)}${pager('/account/keys', { cursor }, keys.next_cursor)}`
        }${createForm(request)}`,
      }
    },
  })

function keyTable(keys: readonly KeyJson[]): Html {
  const format = alignedFormatter(keys.map(({ balance_microdollars: balance }) => balance ?? 0))
  return cardTable(
    'Keys',
    [
      {
        head: 'Key',
        cell: ({ key, depth }) =>
          html`<span class="depth-${depth}"><a href="/account/keys/${key.key_id}">${
            key.name ?? key.key_id
          }</a> ${stateBadge(key)}</span>`,
      },
      {
        head: 'Secret',
        noWrap: true,
        cell: ({ key }) => html`<code>${key.prefixes[0] ?? '–'}…</code>`,
      },
      {
        head: 'Credits',
        number: true,
        cell: ({ key }) =>
          key.balance_microdollars === null
            ? html`<span class="muted">from main key</span>`
            : format(key.balance_microdollars),
      },
      { head: 'Limits', cell: ({ key }) => limitsOf(key) },
      { head: 'Last used', noWrap: true, cell: ({ key }) => timeAgo(key.used_at) },
      { head: 'Actions', cell: ({ key }) => keyMenu(key) },
    ],
    keyTree(keys),
  )
}

function keyMenu(key: KeyJson): Html {
  const { key_id: id, name, parent, balance_microdollars: balance } = key
  const isUsable = key.revoked_at === null
  const edit = (dialog: string, text: string) =>
    isUsable && html`<a href="${dialogPath(`/account/keys/${id}`, dialog)}">${text}</a>`
  return rowMenu(`menu-${id}`, name ?? id, [
    isUsable &&
      balance !== null &&
      html`<a href="${withQuery('/topup', { key_id: id })}">Top up</a>`,
    balance !== null && html`<a href="${withQuery('/account/history', { key: id })}">History</a>`,
    edit('child', 'Create a sub-key'),
    parent !== null && edit('limits', 'Limits'),
    edit('rename', 'Rename'),
    edit('rotate', 'Rotate secret'),
    key.frozen === null && edit('freeze', 'Freeze'),
    edit('revoke', 'Revoke'),
    !isUsable && html`<a href="/account/keys/${id}">Details</a>`,
  ])
}

/** Badge of a key that does not work. */
export function stateBadge(key: KeyJson): Html | undefined {
  if (key.revoked_at !== null) return html`<span class="badge bad">revoked</span>`
  if (key.frozen !== null) return html`<span class="badge fair">frozen</span>`
  return undefined
}

/** Limits of a key as text: `$1.00 per call; $5.00 per day, $2.00 left; echo`. */
export function limitsOf(key: KeyJson): string {
  const { max_call_microdollars: call, max_day_microdollars: day } = key
  const { max_total_microdollars: total, services, expires_at: end } = key
  const limits = [
    call !== null && `${formatDollars(call)} per call`,
    day !== null && `${formatDollars(day)} per day${left(key.day_remaining_microdollars)}`,
    total !== null && `${formatDollars(total)} total${left(key.total_remaining_microdollars)}`,
    services !== null && services.join(', '),
    end !== null && `until ${formatTime(end)}`,
  ].filter((text) => text !== false)
  return limits.length === 0 ? 'none' : limits.join('; ')
}

const left = (amount: number | null): string =>
  amount === null ? '' : `, ${formatDollars(amount)} left`

interface TreeRow {
  readonly key: KeyJson
  readonly depth: number
}

/** Each key, followed by its sub-keys. Keys whose parent is on another page start at depth 0. */
function keyTree(keys: readonly KeyJson[]): readonly TreeRow[] {
  const shown = new Set(keys.map(({ key_id: id }) => id))
  const byParent = Map.groupBy(keys, ({ parent }) =>
    parent !== null && shown.has(parent) ? parent : '',
  )
  const from = (parent: string, depth: number): readonly TreeRow[] =>
    (byParent.get(parent) ?? []).flatMap((key) => [{ key, depth }, ...from(key.key_id, depth + 1)])
  return from('', 0)
}

function createForm({ submission }: PageRequest): Html {
  const fields = formFields('make', submission)
  return html`<h2 id="make">Create a key</h2><p>A new main key has no credits: top it up before the
first paid call. To share credits with another agent, open a key and create a sub-key.</p>${form({
    act: 'make',
    submit: 'Create key',
    fields: [fields.text({ name: 'name', label: 'Name', hint: 'A label only you see.', max: 100 })],
  })}`
}
