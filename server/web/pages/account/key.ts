import { z } from 'zod'
import {
  LOW_BALANCE_THRESHOLD,
  readLowBalanceThreshold,
} from '../../../../core/usage/low-balance.ts'
import type { KeyJson, SecretJson } from '../../../rest/account/keys.ts'
import type { RevokedKeyJson } from '../../../rest/account/revoke-key.ts'
import { dialogs } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { confirmedCheckbox, optionalText } from '../../form-schemas.ts'
import { formatDollars, formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, type FormAction, formAction, type PageRequest, page } from '../../page.ts'
import { definitionList, metrics, shortHash, withQuery } from '../../table.ts'
import {
  changeLimits,
  limitFields,
  limitInputs,
  limitsBody,
  limitsForm,
  type OfferedService,
  offerServices,
} from './key-limits.ts'
import { keySpending } from './key-spending.ts'
import { changeThreshold, thresholdForm } from './key-threshold.ts'
import { limitsOf, stateBadge } from './keys.ts'
import type { OverviewDeps } from './overview.ts'
import { rateForm, requestRate } from './rate-request.ts'

/** `/account/keys/{id}`: one key and the forms that manage it. */
export const keyPage = (deps: OverviewDeps): AnyPage =>
  page('/account/keys/{id}', {
    query: z.object({ edit: z.string().max(20).optional() }),
    actions: { ...secretActions, ...changeActions },
    notices: {
      made: html`Key created. It works immediately. <a href="/account">Next step</a>`,
      rotated: 'New secret created.',
      renamed: 'Key renamed.',
      limited: 'Limits changed.',
      threshold: 'Threshold saved.',
      requested: 'Rate limit requested. We will notify you of the decision.',
      frozen: 'Key and its sub-keys frozen.',
      thawed: 'Key unfrozen. It works again.',
      revoked: 'Key and its sub-keys revoked.',
      moved: 'Key and its sub-keys revoked. Its credits moved to your other main key.',
    },
    render: async (request) => {
      const key = await request.api<KeyJson>('GET /v1/keys/{id}', { params: request.params })
      const [offered, threshold] = await Promise.all([
        key.revoked_at === null ? offerServices(deps.pool, key) : [],
        readLowBalanceThreshold(deps.pool, key.key_id),
      ])
      return {
        title: key.name ?? key.key_id,
        tabs: ACCOUNT_TABS,
        tab: 'Keys',
        main: html`<p class="breadcrumb"><a href="/account/keys">Keys</a></p>
<h1>${key.name ?? 'Key'} ${stateBadge(key)}</h1>${
          key.balance_microdollars !== null &&
          metrics({ Credits: formatDollars(key.balance_microdollars) })
        }${
          key.revoked_at === null
            ? forms(key, request, { offered, threshold })
            : html`<p class="actions">${creditLinks(key)}</p>${moveForm(key)}`
        }${about(key, threshold)}${await keySpending(deps, key)}`,
      }
    },
  })

/** Actions that return a one-time secret. */
const secretActions: Readonly<Record<string, FormAction>> = {
  child: formAction({
    fields: limitFields({ name: optionalText(100) }),
    run: async ({ api, params }, fields) => {
      const created = await api<SecretJson>('POST /v1/keys', {
        body: { parent: params['id'], name: fields.name, ...limitsBody(fields) },
      })
      return { to: `/account/keys/${created.key_id}?done=made`, secret: created.api_key }
    },
  }),
  rotate: formAction({
    fields: z.object({ overlap: z.enum(['0', '3600', '86400', '604800']) }),
    run: async ({ api, params, path }, { overlap }) => {
      const created = await api<SecretJson>('POST /v1/keys/{id}/rotate', {
        params,
        body: { overlap_seconds: Number(overlap) },
      })
      return { to: `${path}?done=rotated`, secret: created.api_key }
    },
  }),
}

const changeActions: Readonly<Record<string, FormAction>> = {
  rename: formAction({
    fields: z.object({ name: optionalText(100) }),
    run: async ({ api, params, path }, body) => {
      await api('PATCH /v1/keys/{id}', { params, body })
      return { to: `${path}?done=renamed` }
    },
  }),
  limits: changeLimits,
  threshold: changeThreshold,
  rate: requestRate,
  freeze: formAction({
    fields: z.object({ reason: z.string().trim().min(1, 'is required').max(200) }),
    run: async ({ api, params, path }, body) => {
      await api('POST /v1/keys/{id}/freeze', { params, body })
      return { to: `${path}?done=frozen` }
    },
  }),
  thaw: formAction({
    run: async ({ api, params, path }) => {
      await api('POST /v1/keys/{id}/thaw', { params })
      return { to: `${path}?done=thawed` }
    },
  }),
  revoke: formAction({
    fields: z.object({ sure: confirmedCheckbox }),
    run: async ({ api, params, path }) => {
      const revoked = await api<RevokedKeyJson>('DELETE /v1/keys/{id}', { params })
      const notice = revoked.moved_microdollars > 0 ? 'moved' : 'revoked'
      return { to: `${path}?done=${notice}` }
    },
  }),
}

const about = (key: KeyJson, threshold: bigint | null): Html =>
  definitionList({
    'Key id': html`<code>${key.key_id}</code>`,
    Secrets: key.prefixes.map((prefix, i) => html`${i > 0 && ', '}<code>${prefix}…</code>`),
    Wallet: key.wallet_address !== null && shortHash(key.wallet_address),
    'Main key':
      key.parent !== null && html`<a href="/account/keys/${key.parent}">${key.parent}</a>`,
    Limits: limitsOf(key),
    'Low balance':
      key.balance_microdollars !== null &&
      `below ${formatDollars(threshold ?? LOW_BALANCE_THRESHOLD)}`,
    Created: formatTime(key.created_at),
    'Last used': formatTime(key.used_at),
    Revoked: key.revoked_at !== null && formatTime(key.revoked_at),
    Frozen:
      key.frozen !== null &&
      `${formatTime(key.frozen.at)} by the ${key.frozen.by}: ${key.frozen.reason}`,
  })

/** Links to what changes the credits of a main key; sub-keys have none of their own. */
const creditLinks = (key: KeyJson): Html | undefined =>
  key.balance_microdollars === null
    ? undefined
    : html`${
        key.revoked_at === null &&
        html`<a class="button" href="${withQuery('/topup', { key_id: key.key_id })}">Top up</a>`
      }<a class="button plain" href="${withQuery('/account/history', { key: key.key_id })}">History
</a>${
        key.wallet_address !== null &&
        html`<a class="button plain" href="${withQuery('/account/transfer', { from: key.key_id })}">
Transfer credits</a>`
      }`

interface FormValues {
  /** Services that the picker offers. */
  readonly offered: readonly OfferedService[]
  /** Balance below which the owner is warned; null: the default. */
  readonly threshold: bigint | null
}

const forms = (
  key: KeyJson,
  { submission, path, query }: PageRequest<{ readonly edit?: string | undefined }>,
  { offered, threshold }: FormValues,
): Html => {
  const edit = (
    name: string,
    title: string,
    content: (fields: Fields) => Html | false,
    kind?: 'danger',
  ) => {
    const made = content(formFields(name, submission))
    return made && { name, title, button: `${title}…`, content: made, ...(kind && { kind }) }
  }
  const rare: typeof edit = (...given) => {
    const made = edit(...given)
    return made && { ...made, isRare: true }
  }
  return html`${dialogs(
    [
      edit('child', 'Create a sub-key', (fields) => subKeyForm(fields, offered)),
      edit('limits', 'Limits', (fields) => limitsForm(key, fields, offered)),
      edit('rotate', 'Rotate secret', rotateForm),
      rare('threshold', 'Low balance', (fields) => thresholdForm(key, fields, threshold)),
      rare('rate', 'Rate limit', (fields) => rateForm(key, fields)),
      rare('rename', 'Rename', (fields) => renameForm(key, fields)),
      key.frozen === null && rare('freeze', 'Freeze', freezeForm),
      rare('revoke', 'Revoke', (fields) => revokeForm(key, fields), 'danger'),
    ],
    path,
    submission?.act ?? query.edit,
    creditLinks(key),
  )}${key.frozen !== null && html`<h2>Frozen</h2>${thawForm(key.frozen.by)}`}`
}

type Fields = ReturnType<typeof formFields>

const subKeyForm = (fields: Fields, offered: readonly OfferedService[]): Html =>
  html`<p>A sub-key spends the credits of this key
within its limits.</p>${form({
    act: 'child',
    submit: 'Create sub-key',
    fields: [
      fields.text({ name: 'name', label: 'Name', max: 100 }),
      ...limitInputs(fields, offered),
    ],
  })}`

const OVERLAPS = {
  '0': 'stops working now',
  '3600': 'works for 1 hour',
  '86400': 'works for 1 day',
  '604800': 'works for 1 week',
}

const rotateForm = ({ select }: Fields): Html =>
  html`<p>Creates a new secret. Credits, limits and history stay.</p>${form({
    act: 'rotate',
    submit: 'Rotate secret',
    fields: [
      select({ name: 'overlap', label: 'Old secret', value: '3600', required: true }, OVERLAPS),
    ],
  })}`

const renameForm = (key: KeyJson, { text }: Fields): Html =>
  html`${form({
    act: 'rename',
    submit: 'Rename',
    kind: 'plain',
    fields: [text({ name: 'name', label: 'Name', max: 100, value: key.name ?? '' })],
  })}`

const freezeForm = ({ text }: Fields): Html =>
  html`<p>Blocks this key and its sub-keys until you unfreeze it.</p>${form({
    act: 'freeze',
    submit: 'Freeze',
    kind: 'plain',
    fields: [text({ name: 'reason', label: 'Reason', max: 200, required: true })],
  })}`

const thawForm = (by: NonNullable<KeyJson['frozen']>['by']): Html =>
  by === 'owner'
    ? form({ act: 'thaw', submit: 'Unfreeze' })
    : html`<p>An administrator froze this key. Contact support.</p>`

/** Form that moves the credits of a revoked key. */
const moveForm = (key: KeyJson): Html | false =>
  (key.balance_microdollars ?? 0) > 0 &&
  html`<h2>Move credits</h2><p>Credits of a revoked key cannot be spent. They move to your oldest
other main key of the same ${key.wallet_address === null ? 'account' : 'wallet'}.</p>${form({
    act: 'revoke',
    submit: 'Move credits',
    hidden: { sure: 'on' },
    fields: [],
  })}`

const revokeForm = (key: KeyJson, { confirmation }: Fields): Html =>
  html`<p>Permanently revokes this key and its sub-keys.${
    key.balance_microdollars !== null &&
    ` The remaining ${formatDollars(key.balance_microdollars)} moves to your oldest other main key
of the same ${key.wallet_address === null ? 'account' : 'wallet'}. Without one, it stays on this
key and cannot be spent.`
  }</p>${form({ act: 'revoke', submit: 'Revoke', kind: 'danger', fields: [confirmation()] })}`
