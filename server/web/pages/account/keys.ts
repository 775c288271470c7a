import { z } from 'zod'
import type { KeyJson, SecretJson } from '../../../rest/account/keys.ts'
import type { Listed } from '../../../rest/paging.ts'
import { ACCOUNT } from '../../areas.ts'
import { optionalText } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { alike, instantText, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { cardTable, pager } from '../../table.ts'

const PAGE = '100'

/** `/account/keys`: the tree of all keys, and a new root. */
export const keysPage = (): AnyPage =>
  page({
    path: '/account/keys',
    person: true,
    query: z.object({ cursor: z.string().max(500).optional() }),
    acts: {
      make: act({
        fields: z.object({ name: optionalText(100) }),
        run: async ({ ask }, body) => {
          const made = await ask<SecretJson>('POST /v1/keys', { body })
          return { to: `/account/keys/${made.key_id}?done=made`, secret: made.api_key }
        },
      }),
    },
    show: async (request) => {
      const { cursor } = request.query
      const keys = await request.ask<Listed<KeyJson>>('GET /v1/keys', {
        query: { limit: PAGE, cursor },
      })
      return {
        title: 'Keys',
        area: ACCOUNT,
        tab: 'Keys',
        main: html`<h1>Keys</h1><p class="lead">A root holds credits. The keys below it spend them,
each within limits of its own.</p>${
          keys.data.length === 0
            ? empty('No keys yet. The first one is made here.')
            : html`${keyTable(keys.data)}${pager('/account/keys', { cursor }, keys.next_cursor)}`
        }${makeForm(request)}`,
      }
    },
  })

function keyTable(keys: readonly KeyJson[]): Html {
  const write = alike(keys.map(({ balance_microdollars: balance }) => BigInt(balance ?? 0)))
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
        whole: true,
        cell: ({ key }) => html`<code>${key.prefixes[0] ?? '–'}…</code>`,
      },
      {
        head: 'Credits',
        number: true,
        cell: ({ key }) =>
          key.balance_microdollars === null
            ? html`<span class="muted">its root’s</span>`
            : write(BigInt(key.balance_microdollars)),
      },
      { head: 'Limits', cell: ({ key }) => limitsOf(key) },
      { head: 'Last used', whole: true, cell: ({ key }) => instantText(key.used_at) },
    ],
    tree(keys),
  )
}

/** Whether a key works, where that is not so. */
export function stateBadge(key: KeyJson): Html | undefined {
  if (key.revoked_at !== null) return html`<span class="badge bad">revoked</span>`
  if (key.frozen !== null) return html`<span class="badge fair">frozen</span>`
  return undefined
}

/** The limits of a key, in few words. */
export function limitsOf(key: KeyJson): string {
  const { max_call_microdollars: call, max_day_microdollars: day } = key
  const { max_total_microdollars: total, services, expires_at: end } = key
  const said = [
    call !== null && `${money(call)} a call`,
    day !== null && `${money(day)} a day`,
    total !== null && `${money(total)} in all`,
    services !== null && services.join(', '),
    end !== null && `until ${instantText(end)}`,
  ].filter((text) => text !== false)
  return said.length === 0 ? 'none' : said.join('; ')
}

interface Placed {
  readonly key: KeyJson
  readonly depth: number
}

/** Each key before those below it. One whose parent is on another page stands for itself. */
function tree(keys: readonly KeyJson[]): readonly Placed[] {
  const shown = new Set(keys.map(({ key_id: id }) => id))
  const below = Map.groupBy(keys, ({ parent }) =>
    parent !== null && shown.has(parent) ? parent : '',
  )
  const from = (parent: string, depth: number): readonly Placed[] =>
    (below.get(parent) ?? []).flatMap((key) => [{ key, depth }, ...from(key.key_id, depth + 1)])
  return from('', 0)
}

function makeForm({ sent }: PageRequest): Html {
  const fields = fieldsOf('make', sent)
  return html`<h2 id="make">Make a key</h2><p>It starts without credits: top it up, then call with
it. To give an agent a part of your credits, make a key below one of yours: open that
key.</p>${form({
    act: 'make',
    submit: 'Make a key',
    fields: [
      fields.text({ name: 'name', label: 'Name', hint: 'For you, to know it again.', max: 100 }),
    ],
  })}`
}
