import { z } from 'zod'
import type { KeyStateJson } from '../../../rest/admin/keys.ts'
import { filterBar, filterField, form, formFields } from '../../form.ts'
import { formatCount, formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ADMIN_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { definitionList, shortHash, withQuery } from '../../table.ts'
import { accountLink, reason, reasonField } from '../finance/components.ts'
import { decideRequest, optionalRate, pendingRequests } from './rate-requests.ts'

const PATH = '/admin/keys'
const id = z.string().regex(/^key_[0-9A-Za-z]{16}$/, 'enter a key id: key_…')

/** `/admin/keys?key=…`: state and rate limit of any key. */
export const keysPage = (): AnyPage =>
  page(PATH, {
    query: z.object({ key: z.union([id, z.literal('')]).default('') }),
    actions: {
      freeze: formAction({
        fields: z.object({ id, reason: z.string().trim().min(1, 'enter a reason').max(200) }),
        run: async (request, { id: key, reason: why }) =>
          changeKey(request, key, { frozen: { reason: why } }, 'frozen'),
      }),
      thaw: formAction({
        fields: z.object({ id, reason }),
        run: async (request, { id: key, reason: why }) =>
          changeKey(request, key, { frozen: null, reason: why }, 'thawed'),
      }),
      decide: decideRequest,
      rate: formAction({
        fields: z.object({ id, rate: optionalRate, reason }),
        run: async (request, { id: key, rate, reason: why }) =>
          changeKey(request, key, { rate_per_minute: rate, reason: why }, 'rated'),
      }),
    },
    notices: {
      frozen: 'Key and its sub-keys frozen.',
      thawed: 'Key unfrozen. It works again.',
      rated: 'Rate limit set.',
      decided: 'Request decided. Its owner was notified.',
    },
    render: async (request) => {
      const { key } = request.query
      return {
        title: 'Keys',
        tabs: ADMIN_TABS,
        main: html`<h1>Keys</h1><p class="lead">Freeze any key or set its rate limit. Changes
take effect within a second.</p>${filterBar(PATH, [
          filterField(
            'key',
            'Key',
            html`<input id="filter-key" name="key" value="${key}" size="24" placeholder="key_…"
autocomplete="off">`,
          ),
        ])}${
          key === ''
            ? emptyState('Enter a key id. Receipts and the journal contain it.')
            : keyPart(
                request,
                await request.api<KeyStateJson>('GET /v1/admin/keys/{id}', { params: { id: key } }),
              )
        }${await pendingRequests(request)}`,
      }
    },
  })

async function changeKey({ api }: PageRequest, key: string, body: object, done: string) {
  await api('PATCH /v1/admin/keys/{id}', { params: { id: key }, body })
  return { to: withQuery(PATH, { key, done }) }
}

function keyPart({ submission }: PageRequest, key: KeyStateJson): Html {
  const { key_id, wallet_address: wallet, parent, frozen, revoked_at: revoked } = key
  const hidden = { id: key_id }
  const to = withQuery(PATH, { key: key_id })
  const rate = key.rate_per_minute
  const fields = (name: string) => formFields(name, submission)
  return html`<h2><code>${key_id}</code></h2>${definitionList({
    State:
      revoked !== null
        ? html`<span class="badge bad">revoked</span> ${formatTime(revoked)}`
        : frozen !== null
          ? html`<span class="badge fair">frozen</span> by the ${frozen.by},
${formatTime(frozen.at)}: ${frozen.reason}`
          : html`<span class="badge good">active</span>`,
    Wallet: wallet !== null && shortHash(wallet),
    'Main key':
      parent !== null && html`<a href="${withQuery(PATH, { key: parent })}">${parent}</a>`,
    'Rate limit': rate === null ? 'default of its tier' : `${formatCount(rate)} per minute`,
    Credits: parent === null && accountLink(`liabilities:agents:${key_id}:credits`),
  })}<div class="columns"><section><h3>${frozen === null ? 'Freeze' : 'Unfreeze'}</h3>${
    frozen === null
      ? form({
          act: 'freeze',
          submit: 'Freeze',
          kind: 'danger',
          to,
          hidden,
          fields: [reasonField(fields('freeze'))],
        })
      : form({ act: 'thaw', submit: 'Unfreeze', to, hidden, fields: [reasonField(fields('thaw'))] })
  }</section>${
    parent === null &&
    html`<section><h3>Rate limit</h3>${form({
      act: 'rate',
      submit: 'Set rate limit',
      to,
      hidden,
      fields: [
        fields('rate').text({
          name: 'rate',
          label: 'Requests per minute',
          value: rate === null ? '' : String(rate),
          hint: 'Leave empty for the default of its tier.',
          numeric: true,
          max: 7,
          size: 10,
        }),
        reasonField(fields('rate')),
      ],
    })}</section>`
  }</div>`
}
