import { z } from 'zod'
import type { Clock } from '../../../../core/clock.ts'
import type { AccessJson, AccessReviewJson } from '../../../rest/admin/access-review.ts'
import { form, formFields } from '../../form.ts'
import { formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { ADMIN_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, shortHash } from '../../table.ts'
import { reason, reasonField } from '../finance/components.ts'
import { ROLE_NAMES } from './roles.ts'

const PATH = '/admin/access'

/** `/admin/access`: held roles, who granted them, their last use and their next review. */
export const accessPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page(PATH, {
    actions: {
      review: formAction({
        fields: z.object({ id: z.string().max(20), reason }),
        run: async ({ api }, { id, reason: why }) => {
          const input = { params: { id }, body: { reason: why } }
          await api('POST /v1/admin/roles/{id}/review', input)
          return { to: `${PATH}?done=reviewed` }
        },
      }),
    },
    notices: { reviewed: 'Review recorded.' },
    render: async (request) => {
      const found = await request.api<AccessReviewJson>('GET /v1/admin/access-review')
      const due = found.data.filter((each) => isDue(each, clock))
      return {
        title: 'Access review',
        tabs: ADMIN_TABS,
        main: html`<h1>Access review</h1><p class="lead">Who holds which role, who granted it, and
when it was last used. Revoke what nobody needs under <a href="/admin/roles">roles</a>.</p>${
          found.same_person_acts.length > 0 && samePersonNotice(found.same_person_acts)
        }${accessTable(found.data)}${
          due.length > 0 &&
          html`<h2>Reviews due</h2><div class="list">${due.map((each) =>
            reviewCard(request, each),
          )}</div>`
        }`,
      }
    },
  })

const isDue = ({ review_due_at: at }: AccessJson, clock: Clock): boolean =>
  at !== null && Date.parse(at) <= clock.now().getTime()

const samePersonNotice = (ids: readonly string[]): Html =>
  html`<div class="box bad" role="alert"><p>The two people of these acts turned out to be one,
because their identities were linked later: ${ids.map((id) => html`<code>${id}</code> `)}</p></div>`

const accessTable = (rows: readonly AccessJson[]): Html =>
  cardTable(
    'Roles',
    [
      {
        head: 'Name',
        cell: ({ name, also_known_as: others }) =>
          html`${nameOf(name)}${
            others.length > 0 &&
            html`<br><span class="small muted">also ${others.map(
              (other, i) => html`${i > 0 && ', '}${nameOf(other)}`,
            )}</span>`
          }`,
      },
      { head: 'Role', cell: ({ role }) => ROLE_NAMES[role] },
      {
        head: 'Granted',
        cell: (each) =>
          each.granted_at === null
            ? html`<code>HUB_ADMIN_WALLETS</code>`
            : html`${formatTime(each.granted_at)} by ${nameOf(each.granted_by ?? '')}${
                each.confirmed_by !== null && html`, confirmed by ${nameOf(each.confirmed_by)}`
              }`,
      },
      {
        head: 'Last use',
        cell: (each) => html`${timeOrNever(each.last_seen_at)}<br><span class="small muted">last act
${timeOrNever(each.last_act_at)}</span>`,
      },
      {
        head: 'Review',
        cell: (each) =>
          each.review_due_at === null
            ? 'with the configuration'
            : html`due ${formatTime(each.review_due_at)}<br><span class="small muted">${
                each.reviewed_at === null
                  ? 'never reviewed'
                  : html`reviewed ${formatTime(each.reviewed_at)} by ${nameOf(
                      each.reviewed_by ?? '',
                    )}`
              }</span>`,
      },
    ],
    rows,
  )

const nameOf = (name: string): Html | string => (name.startsWith('0x') ? shortHash(name) : name)

const timeOrNever = (at: string | null): Html | string => (at === null ? 'never' : formatTime(at))

function reviewCard({ submission }: PageRequest, { role_id: id, name, role }: AccessJson): Html {
  const hidden = { id: id ?? '' }
  return html`<section class="card"><h3>${name}: ${ROLE_NAMES[role]}</h3>${form({
    act: 'review',
    submit: 'Still needed',
    label: `Record the review of the role ${role} of ${name}`,
    hidden,
    fields: [reasonField(formFields('review', submission, hidden))],
  })}</section>`
}
