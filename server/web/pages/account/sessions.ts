import { z } from 'zod'
import type { SessionJson } from '../../../rest/account/sessions.ts'
import { sessionCookie } from '../../../rest/authentication.ts'
import { form } from '../../form.ts'
import { dayOf } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { ACCOUNT_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, page, requireSession } from '../../page.ts'
import { cardTable, timeAgo } from '../../table.ts'

/** `/account/sessions`: browsers that are signed in, and the forms that sign them out. */
export const sessionsPage = ({ baseUrl }: { readonly baseUrl: () => string }): AnyPage => {
  const clearCookie = { 'Set-Cookie': sessionCookie(baseUrl(), null) }
  return page('/account/sessions', {
    actions: {
      end: formAction({
        fields: z.object({ id: z.string().max(40) }),
        run: async ({ api, session }, { id }) => {
          await api('DELETE /v1/sessions/{id}', { params: { id } })
          return id === session?.id
            ? { to: '/', headers: clearCookie }
            : { to: '/account/sessions?done=ended' }
        },
      }),
      all: formAction({
        run: async ({ api }) => {
          await api('DELETE /v1/sessions')
          return { to: '/sign-in', headers: clearCookie }
        },
      }),
    },
    notices: { ended: 'Session ended. That browser is signed out.' },
    render: async (request) => {
      const { name } = requireSession(request)
      const { data } = await request.api<{ data: readonly SessionJson[] }>('GET /v1/sessions')
      return {
        title: 'Sessions',
        tabs: ACCOUNT_TABS,
        main: html`<h1>Sessions</h1><p class="lead">Browsers signed in as ${name}.</p>
${sessionTable(data)}<h2>All sessions</h2><p>If someone else may have had access to your
email or a browser, end all sessions, including this one. Your keys keep working; you can revoke
them under <a href="/account/keys">Keys</a>.</p>
${form({ act: 'all', submit: 'Sign out everywhere', kind: 'danger' })}`,
      }
    },
  })
}

const sessionTable = (sessions: readonly SessionJson[]): Html =>
  cardTable(
    'Sessions',
    [
      {
        head: 'Browser',
        cell: ({ user_agent: agent, current }) =>
          html`${browserOf(agent)}${
            current &&
            html` <span class="badge good">this
browser</span>`
          }`,
      },
      { head: 'Network', cell: ({ network }) => html`<code>${network}</code>` },
      { head: 'Signed in', noWrap: true, cell: (each) => timeAgo(each.created_at) },
      { head: 'Last used', noWrap: true, cell: (each) => timeAgo(each.used_at) },
      { head: 'Expires', noWrap: true, cell: (each) => dayOf(each.expires_at) },
      {
        head: 'Action',
        cell: ({ session_id: id, current, user_agent: agent }) =>
          form({
            act: 'end',
            submit: current ? 'Sign out' : 'End session',
            hidden: { id },
            kind: 'plain',
            label: `Sign out of ${browserOf(agent)}`,
          }),
      },
    ],
    sessions,
  )

/** Browser and operating system from a `User-Agent` header. */
function browserOf(agent: string): string {
  const name = /(Firefox|Edg|OPR|Chrome|Safari)\/[\d.]+/.exec(agent)?.[1]
  const system = /(Android|iPhone|iPad|Windows|Mac OS X|Linux)/.exec(agent)?.[1]
  const known = { Edg: 'Edge', OPR: 'Opera' }[name ?? ''] ?? name
  const parts = [known, system].filter((part) => part !== undefined)
  return parts.length > 0 ? parts.join(', ') : agent.slice(0, 60) || 'unknown'
}
