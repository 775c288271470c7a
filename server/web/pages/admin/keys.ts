import { z } from 'zod'
import type { KeyStateJson } from '../../../rest/admin/keys.ts'
import { ADMIN } from '../../areas.ts'
import { fieldsOf, filterField, filters, form } from '../../form.ts'
import { count, instantText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { address, facts } from '../../table.ts'
import { accountLink, reason, reasonField } from '../finance/parts.ts'

const PATH = '/admin/keys'
const id = z.string().regex(/^key_[0-9A-Za-z]{16}$/, 'the id of a key: key_…')

/** `/admin/keys?key=…`: a key of somebody else's: whether it works, and at which rate. */
export const keysPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({ key: z.union([id, z.literal('')]).default('') }),
    acts: {
      freeze: act({
        fields: z.object({ id, reason: z.string().trim().min(1, 'say why').max(200) }),
        run: async (request, { id: key, reason: why }) =>
          change(request, key, { frozen: { reason: why } }, 'frozen'),
      }),
      thaw: act({
        fields: z.object({ id, reason }),
        run: async (request, { id: key, reason: why }) =>
          change(request, key, { frozen: null, reason: why }, 'thawed'),
      }),
      rate: act({
        fields: z.object({
          id,
          rate: z
            .string()
            .trim()
            .regex(/^(?:[1-9]\d{0,6})?$/, 'a whole number, or nothing')
            .transform((text) => (text === '' ? null : Number(text))),
          reason,
        }),
        run: async (request, { id: key, rate, reason: why }) =>
          change(request, key, { rate_per_minute: rate, reason: why }, 'rated'),
      }),
    },
    done: {
      frozen: 'The key is frozen, with all that it made.',
      thawed: 'The key works again.',
      rated: 'The rate is set.',
    },
    show: async (request) => {
      const { key } = request.query
      return {
        title: 'Keys',
        area: ADMIN,
        tab: 'Keys',
        main: html`<h1>Keys</h1><p class="lead">Stops a key, or gives it a rate of its own;
everywhere within a second.</p>${filters(PATH, [
          filterField(
            'key',
            'Key',
            html`<input id="filter-key" name="key" value="${key}" size="24" placeholder="key_…"
autocomplete="off">`,
          ),
        ])}${
          key === ''
            ? empty('Name a key: its id stands in every receipt and in the journal.')
            : keyOf(
                request,
                await request.ask<KeyStateJson>('GET /v1/admin/keys/{id}', { params: { id: key } }),
              )
        }`,
      }
    },
  })

async function change({ ask }: PageRequest, key: string, body: object, done: string) {
  await ask('PATCH /v1/admin/keys/{id}', { params: { id: key }, body })
  return { to: address(PATH, { key, done }) }
}

function keyOf({ sent }: PageRequest, key: KeyStateJson): Html {
  const { key_id, wallet_address: wallet, parent, frozen, revoked_at: revoked } = key
  const hidden = { id: key_id }
  const to = address(PATH, { key: key_id })
  const rate = key.rate_per_minute
  const fields = (name: string) => fieldsOf(name, sent)
  return html`<h2><code>${key_id}</code></h2>${facts({
    State:
      revoked !== null
        ? html`<span class="badge bad">revoked</span> ${instantText(revoked)}`
        : frozen !== null
          ? html`<span class="badge fair">frozen</span> by the ${frozen.by},
${instantText(frozen.at)}: ${frozen.reason}`
          : html`<span class="badge good">works</span>`,
    Wallet: wallet !== null && html`<code>${wallet}</code>`,
    'Made by': parent !== null && html`<a href="${address(PATH, { key: parent })}">${parent}</a>`,
    Rate: rate === null ? 'that of its tier' : `${count(rate)} a minute`,
    Credits: parent === null && accountLink(`liabilities:agents:${key_id}:credits`),
  })}<div class="columns"><section><h3>${frozen === null ? 'Freeze it' : 'Thaw it'}</h3>${
    frozen === null
      ? form({
          act: 'freeze',
          submit: 'Freeze',
          kind: 'danger',
          to,
          hidden,
          fields: [reasonField(fields('freeze'))],
        })
      : form({ act: 'thaw', submit: 'Thaw', to, hidden, fields: [reasonField(fields('thaw'))] })
  }</section>${
    parent === null &&
    html`<section><h3>Rate</h3>${form({
      act: 'rate',
      submit: 'Set the rate',
      to,
      hidden,
      fields: [
        fields('rate').text({
          name: 'rate',
          label: 'Requests a minute',
          value: rate === null ? '' : String(rate),
          hint: 'Left out: that of its tier.',
          numeric: true,
          max: 7,
          size: 10,
        }),
        reasonField(fields('rate')),
      ],
    })}</section>`
  }</div>`
}
