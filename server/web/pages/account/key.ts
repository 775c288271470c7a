import { z } from 'zod'
import type { KeyJson, SecretJson } from '../../../rest/account/keys.ts'
import { ACCOUNT } from '../../areas.ts'
import { optionalDollars, optionalList, optionalText, ticked } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { instantText, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type Act, type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { address, facts } from '../../table.ts'
import { limitsOf, stateBadge } from './keys.ts'

/** `/account/keys/{id}`: one key, and all that can be done with it. */
export const keyPage = (): AnyPage =>
  page({
    path: '/account/keys/{id}',
    person: true,
    query: z.object({}),
    acts: { ...making, ...changing },
    done: {
      made: 'The key is made, and works at once.',
      rotated: 'The key has a new secret.',
      renamed: 'The key is renamed.',
      frozen: 'The key is frozen, with all below it.',
      thawed: 'The key works again.',
      revoked: 'The key is revoked, with all below it.',
    },
    show: async (request) => {
      const key = await request.ask<KeyJson>('GET /v1/keys/{id}', { params: request.params })
      return {
        title: key.name ?? key.key_id,
        area: ACCOUNT,
        tab: 'Keys',
        main: html`<p class="crumbs"><a href="/account/keys">Keys</a></p>
<h1>${key.name ?? 'Key'} ${stateBadge(key)}</h1>${credits(key)}${about(key)}${
          key.revoked_at === null && forms(key, request)
        }`,
      }
    },
  })

const keyPath = (id: string | undefined, done: string): string =>
  `/account/keys/${id ?? ''}?done=${done}`

const ending = z
  .string()
  .regex(/^(?:\d{4}-\d\d-\d\d)?$/, 'a day, such as 2027-01-31')
  .default('')
  .transform((text) => (text === '' ? null : `${text}T23:59:59Z`))

/** Forms that give a secret, which is shown once. */
const making: Readonly<Record<string, Act>> = {
  child: act({
    fields: z.object({
      name: optionalText(100),
      max_call: optionalDollars,
      max_day: optionalDollars,
      max_total: optionalDollars,
      services: optionalList,
      expires: ending,
    }),
    run: async ({ ask, params }, fields) => {
      const made = await ask<SecretJson>('POST /v1/keys', {
        body: {
          parent: params['id'],
          name: fields.name,
          max_call_microdollars: fields.max_call,
          max_day_microdollars: fields.max_day,
          max_total_microdollars: fields.max_total,
          services: fields.services,
          expires_at: fields.expires,
        },
      })
      return { to: keyPath(made.key_id, 'made'), secret: made.api_key }
    },
  }),
  rotate: act({
    fields: z.object({ overlap: z.enum(['0', '3600', '86400', '604800']) }),
    run: async ({ ask, params }, { overlap }) => {
      const made = await ask<SecretJson>('POST /v1/keys/{id}/rotate', {
        params,
        body: { overlap_seconds: Number(overlap) },
      })
      return { to: keyPath(params['id'], 'rotated'), secret: made.api_key }
    },
  }),
}

const changing: Readonly<Record<string, Act>> = {
  rename: act({
    fields: z.object({ name: optionalText(100) }),
    run: async ({ ask, params }, body) => {
      await ask('PATCH /v1/keys/{id}', { params, body })
      return { to: keyPath(params['id'], 'renamed') }
    },
  }),
  freeze: act({
    fields: z.object({ reason: z.string().trim().min(1, 'is required').max(200) }),
    run: async ({ ask, params }, body) => {
      await ask('POST /v1/keys/{id}/freeze', { params, body })
      return { to: keyPath(params['id'], 'frozen') }
    },
  }),
  thaw: act({
    fields: z.object({}),
    run: async ({ ask, params }) => {
      await ask('POST /v1/keys/{id}/thaw', { params })
      return { to: keyPath(params['id'], 'thawed') }
    },
  }),
  revoke: act({
    fields: z.object({ sure: ticked.refine((sure) => sure, 'has to be ticked') }),
    run: async ({ ask, params }) => {
      await ask('DELETE /v1/keys/{id}', { params })
      return { to: keyPath(params['id'], 'revoked') }
    },
  }),
}

const about = (key: KeyJson): Html =>
  facts({
    'Key id': html`<code>${key.key_id}</code>`,
    Secrets: key.prefixes.map((prefix, i) => html`${i > 0 && ', '}<code>${prefix}…</code>`),
    Wallet: key.wallet_address !== null && html`<code>${key.wallet_address}</code>`,
    'Made by': key.parent !== null && html`<a href="/account/keys/${key.parent}">${key.parent}</a>`,
    Limits: limitsOf(key),
    'Made on': instantText(key.created_at),
    'Last used': instantText(key.used_at),
    Revoked: key.revoked_at !== null && instantText(key.revoked_at),
    Frozen:
      key.frozen !== null &&
      `${instantText(key.frozen.at)} by the ${key.frozen.by}: ${key.frozen.reason}`,
  })

/** Credits are a root's; the keys below it spend them. */
const credits = (key: KeyJson): Html | undefined =>
  key.balance_microdollars === null
    ? undefined
    : html`<dl class="figures"><div><dt>Credits</dt><dd>${money(key.balance_microdollars)}</dd>
</div></dl><p class="actions">${
        key.revoked_at === null &&
        html`<a class="button" href="${address('/topup', { key_id: key.key_id })}">Top up</a>`
      }<a class="button plain" href="${address('/account/history', { key: key.key_id })}">History
</a>${
        key.wallet_address !== null &&
        html`<a class="button plain" href="${address('/account/transfer', { from: key.key_id })}">
Move credits</a>`
      }</p>`

const forms = (key: KeyJson, { sent }: PageRequest): Html =>
  html`${childForm(fieldsOf('child', sent))}${rotateForm(fieldsOf('rotate', sent))}${renameForm(
    key,
    fieldsOf('rename', sent),
  )}${freezeForm(key, fieldsOf('freeze', sent))}${revokeForm(key, fieldsOf('revoke', sent))}`

type Fields = ReturnType<typeof fieldsOf>

const childForm = ({ text }: Fields): Html =>
  html`<h2>Make a key below this one</h2><p>For an agent of its own: it spends the credits of this
key, within limits that never change.</p>${form({
    act: 'child',
    submit: 'Make a key',
    fields: [
      text({ name: 'name', label: 'Name', max: 100 }),
      html`<fieldset><legend>Limits, in dollars</legend><div class="row">${[
        text({ name: 'max_call', label: 'A call', numeric: true, size: 8 }),
        text({ name: 'max_day', label: 'A UTC day', numeric: true, size: 8 }),
        text({ name: 'max_total', label: 'In all', numeric: true, size: 8 }),
      ]}</div></fieldset>`,
      text({
        name: 'services',
        label: 'Services',
        hint: 'Slugs with commas between. Left empty: all.',
      }),
      text({
        name: 'expires',
        label: 'Last day',
        type: 'date',
        hint: 'To the end of this day, UTC.',
      }),
    ],
  })}`

const OVERLAPS = { '0': 'ends at once', '3600': 'works for an hour', '86400': 'works for a day' }

const rotateForm = ({ select }: Fields): Html =>
  html`<h2>New secret</h2><p>The key stays what it is, with its credits, its limits and its
history.</p>${form({
    act: 'rotate',
    submit: 'Make a new secret',
    fields: [
      select(
        { name: 'overlap', label: 'The old secret', value: '3600', required: true },
        { ...OVERLAPS, '604800': 'works for a week' },
      ),
    ],
  })}`

const renameForm = (key: KeyJson, { text }: Fields): Html =>
  html`<h2>Name</h2>${form({
    act: 'rename',
    submit: 'Rename',
    kind: 'plain',
    fields: [text({ name: 'name', label: 'Name', max: 100, value: key.name ?? '' })],
  })}`

const freezeForm = (key: KeyJson, { text }: Fields): Html =>
  key.frozen === null
    ? html`<h2>Freeze</h2><p>Stops this key and all below it, until you thaw it.</p>${form({
        act: 'freeze',
        submit: 'Freeze',
        kind: 'plain',
        fields: [text({ name: 'reason', label: 'Reason', max: 200, required: true })],
      })}`
    : html`<h2>Frozen</h2>${
        key.frozen.by === 'owner'
          ? form({ act: 'thaw', submit: 'Thaw' })
          : html`<p>An administrator froze it: ask the operator.</p>`
      }`

const revokeForm = ({ wallet_address: wallet, parent }: KeyJson, { sure }: Fields): Html =>
  html`<h2>Revoke</h2><p>Ends this key and all below it, within a second and for good.${
    parent === null &&
    (wallet === null
      ? ' Credits that are left cannot be spent any more.'
      : ' Credits that are left can be moved to another key of the wallet.')
  }</p>${form({
    act: 'revoke',
    submit: 'Revoke',
    kind: 'danger',
    fields: [sure()],
  })}`
