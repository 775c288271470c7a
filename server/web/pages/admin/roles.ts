import { z } from 'zod'
import type { GrantJson, RolesJson } from '../../../rest/admin/roles.ts'
import { ADMIN } from '../../areas.ts'
import { fieldsOf, form } from '../../form.ts'
import { instantText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { cardTable } from '../../table.ts'
import { reason, reasonField } from '../finance/parts.ts'

const PATH = '/admin/roles'
const TITLES = { finance: 'finance', admin: 'administrator' }
const ROLES = {
  finance: 'finance: sees and corrects the books',
  admin: 'administrator: that, and all else',
}

/** `/admin/roles`: who may do what. */
export const rolesPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({}),
    acts: {
      grant: act({
        fields: z.object({
          name: z.string().trim().min(3, 'an address of mail, or a wallet').max(254),
          role: z.enum(['finance', 'admin']),
          reason,
        }),
        run: async ({ ask }, body) => {
          await ask('POST /v1/admin/roles', { body })
          return { to: `${PATH}?done=granted` }
        },
      }),
      revoke: act({
        fields: z.object({ id: z.string().max(20), reason }),
        run: async ({ ask }, { id, reason: why }) => {
          await ask('DELETE /v1/admin/roles/{id}', { params: { id }, body: { reason: why } })
          return { to: `${PATH}?done=revoked` }
        },
      }),
    },
    done: { granted: 'The role is given.', revoked: 'The role is taken away.' },
    show: async (request) => {
      const found = await request.ask<RolesJson>('GET /v1/admin/roles', { query: { held: 'ever' } })
      const held = found.data.filter(({ revoked_at: at }) => at === null)
      const past = found.data.filter(({ revoked_at: at }) => at !== null)
      return {
        title: 'Roles',
        area: ADMIN,
        tab: 'Roles',
        main: html`<h1>Roles</h1><p class="lead">Who sees the books, and who decides.</p>${
          found.configured.length > 0 &&
          html`<p>By configuration (<code>HUB_ADMIN_WALLETS</code>), these wallets are
administrators: ${found.configured.map((wallet) => html`<code>${wallet}</code> `)}</p>`
        }${
          held.length === 0
            ? empty('Nobody has a role besides.')
            : html`<ul class="list">${held.map((each) => holder(request, each))}</ul>`
        }${grantForm(request)}${past.length > 0 && html`<h2>Before</h2>${history(past)}`}`,
      }
    },
  })

function holder({ sent }: PageRequest, each: GrantJson): Html {
  const { role_id: id } = each
  const mine = sent?.values['id'] === id ? sent : undefined
  return html`<li class="card"><h2>${each.name}</h2><p class="facts"><span><strong>${
    TITLES[each.role]
  }</strong></span><span>given ${instantText(each.granted_at)} by ${each.granted_by}</span></p>
<details${mine !== undefined && html` open`}><summary>Take it away</summary>${form({
    act: 'revoke',
    submit: 'Take it away',
    kind: 'danger',
    label: `Take the role ${each.role} from ${each.name}`,
    hidden: { id },
    fields: [reasonField(fieldsOf('revoke', mine, id))],
  })}</details></li>`
}

function grantForm({ sent }: PageRequest): Html {
  const fields = fieldsOf('grant', sent)
  return html`<h2 id="grant">Give a role</h2>${form({
    act: 'grant',
    submit: 'Give it',
    fields: [
      fields.text({
        name: 'name',
        label: 'Address of mail, or wallet',
        hint: 'Of somebody who has signed in, or registered, before.',
        max: 254,
        required: true,
      }),
      fields.select({ name: 'role', label: 'Role', required: true }, ROLES),
      reasonField(fields),
    ],
  })}`
}

const history = (rows: readonly GrantJson[]): Html =>
  cardTable(
    'Roles that were taken away',
    [
      { head: 'Who', cell: ({ name }) => name },
      { head: 'Role', cell: ({ role }) => TITLES[role] },
      { head: 'Given', cell: (each) => `${instantText(each.granted_at)} by ${each.granted_by}` },
      {
        head: 'Taken away',
        cell: (each) => `${instantText(each.revoked_at)} by ${each.revoked_by ?? ''}`,
      },
    ],
    rows,
  )
