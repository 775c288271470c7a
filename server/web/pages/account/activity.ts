import { z } from 'zod'
import type { ActivityJson } from '../../../rest/account/activity.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { formatDollars, formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { cardTable, pager, shortHash, timeAgo } from '../../table.ts'

const PATH = '/account/activity'
const PAGE_SIZE = '50'

/** `/account/activity`: who changed the keys, limits and payout address of an account. */
export const activityPage = (): AnyPage =>
  page(PATH, {
    query: z.object({ cursor: z.string().max(500).optional() }),
    render: async ({ api, query: { cursor } }) => {
      const found = await api<ListPage<ActivityJson>>('GET /v1/account/activity', {
        query: { limit: PAGE_SIZE, cursor },
      })
      return {
        title: 'Activity',
        tabs: ACCOUNT_TABS,
        main: html`<h1>Activity</h1><p class="lead">Who changed your keys, their limits, your payout
address, linked wallets and webhooks. Lines cannot be changed.</p>${
          found.data.length === 0 ? emptyState('No changes yet.') : changeTable(found.data)
        }${pager(PATH, { cursor }, found.next_cursor)}<p class="small muted">If you do not recognize
a change, <a href="/account/keys">rotate or revoke the key</a> and
<a href="/account/sessions">sign out everywhere</a>.</p>`,
      }
    },
  })

const ACT_TEXTS: Readonly<Record<string, string>> = {
  'key.create': 'Key created',
  'key.change': 'Key changed',
  'key.rotate': 'New secret',
  'key.freeze': 'Key frozen',
  'key.thaw': 'Key unfrozen',
  'key.revoke': 'Key revoked',
  'key.rate': 'Rate limit set',
  'payout.set': 'Payout address set or requested',
  'payout.authorize': 'Change of payout address authorized',
  'payout.cancel': 'Change of payout address canceled',
  'payout.recover': 'Payout address recovered',
  'provider.assign': 'Provider assigned to an account',
  'provider.suspend': 'Sales suspended',
  'provider.resume': 'Sales resumed',
  'wallet.link': 'Wallet linked',
  'wallet.unlink': 'Wallet unlinked',
  'webhook.create': 'Webhook created',
  'webhook.change': 'Webhook changed',
  'webhook.rotate': 'New webhook secret',
  'webhook.delete': 'Webhook deleted',
}

const changeTable = (changes: readonly ActivityJson[]): Html =>
  cardTable(
    'Activity',
    [
      { head: 'Time', noWrap: true, cell: ({ at }) => timeAgo(at) },
      {
        head: 'Change',
        cell: ({ act, subject }) =>
          html`${ACT_TEXTS[act] ?? act}<br><span class="small">${subjectLink(act, subject)}</span>`,
      },
      { head: 'New values', cell: detailList },
      {
        head: 'By',
        cell: ({ author, network }) =>
          author === null
            ? 'staff of the platform'
            : html`${author.startsWith('0x') ? shortHash(author) : author}<br><span
class="small muted">${network}</span>`,
      },
    ],
    changes,
  )

/** Object of a change, linked to its page. */
function subjectLink(act: string, subject: string): Html {
  const [kind] = act.split('.')
  const code = html`<code>${subject}</code>`
  if (kind === 'key') return html`<a href="/account/keys/${subject}">${code}</a>`
  if (kind === 'payout') return html`<a href="/provider/payouts#address">${code}</a>`
  if (kind === 'wallet') return shortHash(subject)
  return kind === 'webhook' && act !== 'webhook.delete'
    ? html`<a href="/account/webhooks/${subject}">${code}</a>`
    : code
}

const AMOUNT = '_microdollars'

/** New values of a change, one per line. A new key has those that are set. */
function detailList({ act, details }: ActivityJson): Html | undefined {
  const set = Object.entries(details).filter(
    ([, value]) => act === 'key.change' || (value !== null && value !== undefined),
  )
  const lines = set.map(([name, value]) => `${labelOf(name)}: ${textOf(name, value)}`)
  if (lines.length === 0) return undefined
  return html`<span class="small">${lines.map((line, i) => html`${i > 0 && html`<br>`}${line}`)}
</span>`
}

const labelOf = (name: string): string => name.replace(AMOUNT, '').replaceAll('_', ' ')

function textOf(name: string, value: unknown): string {
  if (value === null) return 'none'
  if (name.endsWith(AMOUNT) && typeof value === 'number') return formatDollars(value)
  if (typeof value === 'string') return name.endsWith('_at') ? formatTime(value) : value
  return Array.isArray(value) ? value.join(', ') : JSON.stringify(value)
}
