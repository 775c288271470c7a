import { z } from 'zod'
import type { Clock } from '../../../../core/clock.ts'
import type { GrantJson, RolesJson } from '../../../rest/admin/roles.ts'
import { form, formFields } from '../../form.ts'
import { formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { ADMIN_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page, type Submission } from '../../page.ts'
import { cardTable } from '../../table.ts'
import { reason, reasonField } from '../finance/components.ts'

const PATH = '/admin/roles'
export const ROLE_NAMES = { auditor: 'Auditor', finance: 'Finance', admin: 'Administrator' }
const ROLE_OPTIONS = {
  auditor: 'Auditor: view and export the ledger and the audit log',
  finance: 'Finance: view and correct the ledger',
  admin: 'Administrator: finance and all other permissions',
}

/** `/admin/roles`: roles of finance staff and administrators. */
export const rolesPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page(PATH, {
    actions: {
      grant: formAction({
        fields: z.object({
          name: z.string().trim().min(3, 'enter an email address or a wallet').max(254),
          role: z.enum(['auditor', 'finance', 'admin']),
          reason,
        }),
        run: async ({ api }, body) => {
          await api('POST /v1/admin/roles', { body })
          return { to: `${PATH}?done=granted` }
        },
      }),
      confirm: formAction({
        fields: z.object({ id: z.string().max(20), reason }),
        run: async ({ api }, { id, reason: why }) => {
          const input = { params: { id }, body: { reason: why } }
          await api('POST /v1/admin/roles/{id}/confirm', input)
          return { to: `${PATH}?done=confirmed` }
        },
      }),
      revoke: formAction({
        fields: z.object({ id: z.string().max(20), reason }),
        run: async ({ api }, { id, reason: why }) => {
          await api('DELETE /v1/admin/roles/{id}', { params: { id }, body: { reason: why } })
          return { to: `${PATH}?done=revoked` }
        },
      }),
    },
    notices: {
      granted: 'Role granted.',
      confirmed: 'Role confirmed. It is effective now.',
      revoked: 'Role revoked.',
    },
    render: async (request) => {
      const found = await request.api<RolesJson>('GET /v1/admin/roles', { query: { held: 'ever' } })
      const active = found.data.filter(({ revoked_at: at }) => at === null)
      const past = found.data.filter(({ revoked_at: at }) => at !== null)
      return {
        title: 'Roles',
        tabs: ADMIN_TABS,
        main: html`<h1>Roles</h1><p class="lead">Who can view the ledger and who can change
settings. The <a href="/admin/access">access review</a> shows when each role was used.</p>${
          found.configured.length > 0 &&
          html`<p>Administrators by configuration
(<code>HUB_ADMIN_WALLETS</code>): ${found.configured.map(
            (wallet) => html`<code>${wallet}</code>
`,
          )}</p>`
        }${
          active.length === 0
            ? emptyState('No roles granted.')
            : html`<ul class="list">${active.map((each) => grantCard(request, each, clock))}</ul>`
        }${grantForm(request)}${past.length > 0 && html`<h2>Revoked roles</h2>${history(past)}`}`,
      }
    },
  })

function grantCard({ submission }: PageRequest, each: GrantJson, clock: Clock): Html {
  const { role_id: id } = each
  const revoking = formFields('revoke', submission, { id })
  const isWaiting = Date.parse(each.effective_at) > clock.now().getTime()
  return html`<li class="card"><h2>${each.name}</h2><p class="facts"><span><strong>${
    ROLE_NAMES[each.role]
  }</strong></span><span>granted ${formatTime(each.granted_at)} by ${each.granted_by}</span>${
    each.confirmed_by !== null && html`<span>confirmed by ${each.confirmed_by}</span>`
  }</p>${isWaiting && waitingPart(each, submission)}
<details${revoking.submitted && html` open`}><summary>Revoke</summary>${form({
    act: 'revoke',
    submit: 'Revoke',
    kind: 'danger',
    label: `Revoke the role ${each.role} of ${each.name}`,
    hidden: { id },
    fields: [reasonField(revoking)],
  })}</details></li>`
}

/** End of the waiting time of a role, and the form that confirms the role earlier. */
function waitingPart(each: GrantJson, submission: Submission | undefined): Html {
  const fields = formFields('confirm', submission, { id: each.role_id })
  return html`<p><span class="badge fair">waiting</span> Takes effect ${formatTime(
    each.effective_at,
  )}, or when a second administrator confirms it.</p><details${
    fields.submitted && html` open`
  }><summary>Confirm</summary>${form({
    act: 'confirm',
    submit: 'Confirm',
    label: `Confirm the role ${each.role} of ${each.name}`,
    hidden: { id: each.role_id },
    fields: [reasonField(fields)],
  })}</details>`
}

function grantForm({ submission }: PageRequest): Html {
  const fields = formFields('grant', submission)
  return html`<h2 id="grant">Grant a role</h2>${form({
    act: 'grant',
    submit: 'Grant',
    fields: [
      fields.text({
        name: 'name',
        label: 'Email address or wallet',
        hint: 'They must have signed in or registered before.',
        max: 254,
        required: true,
      }),
      fields.select({ name: 'role', label: 'Role', required: true }, ROLE_OPTIONS),
      reasonField(fields),
    ],
  })}`
}

const history = (rows: readonly GrantJson[]): Html =>
  cardTable(
    'Revoked roles',
    [
      { head: 'Name', cell: ({ name }) => name },
      { head: 'Role', cell: ({ role }) => ROLE_NAMES[role] },
      { head: 'Granted', cell: (each) => `${formatTime(each.granted_at)} by ${each.granted_by}` },
      {
        head: 'Revoked',
        cell: (each) => `${formatTime(each.revoked_at)} by ${each.revoked_by ?? ''}`,
      },
    ],
    rows,
  )
