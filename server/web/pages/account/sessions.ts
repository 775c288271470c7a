import { z } from 'zod'
import type { SessionJson } from '../../../rest/account/sessions.ts'
import { sessionCookie } from '../../../rest/visitor.ts'
import { ACCOUNT } from '../../areas.ts'
import { form } from '../../form.ts'
import { day, instantText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type AnyPage, act, page, personOn } from '../../page.ts'
import { cardTable } from '../../table.ts'

/** `/account/sessions`: where somebody is signed in, and the ways out. */
export const sessionsPage = ({ baseUrl }: { readonly baseUrl: () => string }): AnyPage => {
  const forget = { 'Set-Cookie': sessionCookie(baseUrl(), null) }
  return page({
    path: '/account/sessions',
    person: true,
    query: z.object({}),
    acts: {
      end: act({
        fields: z.object({ id: z.string().max(40) }),
        run: async ({ ask, session }, { id }) => {
          await ask('DELETE /v1/sessions/{id}', { params: { id } })
          return id === session?.id
            ? { to: '/', headers: forget }
            : { to: '/account/sessions?done=ended' }
        },
      }),
      all: act({
        fields: z.object({}),
        run: async ({ ask }) => {
          await ask('DELETE /v1/sessions')
          return { to: '/sign-in', headers: forget }
        },
      }),
    },
    done: { ended: 'That session has ended: its browser is signed out.' },
    show: async (request) => {
      const { email } = personOn(request)
      const { data } = await request.ask<{ data: readonly SessionJson[] }>('GET /v1/sessions')
      return {
        title: 'Sessions',
        area: ACCOUNT,
        tab: 'Sessions',
        main: html`<h1>Sessions</h1><p class="lead">Where ${email} is signed in.</p>
${sessionTable(data)}<h2>All of them</h2><p>Somebody else may have had your mail
or this browser? End every session, this one too. Your keys
work on; see <a href="/account/keys">Keys</a> to revoke them.</p>
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
          html`${browserOf(agent)}${current && html` <span class="badge good">this one</span>`}`,
      },
      { head: 'Network', cell: ({ network }) => html`<code>${network}</code>` },
      { head: 'Signed in', whole: true, cell: (each) => instantText(each.created_at) },
      { head: 'Last used', whole: true, cell: (each) => instantText(each.used_at) },
      { head: 'Expires', whole: true, cell: (each) => day(each.expires_at) },
      {
        head: 'Action',
        cell: ({ session_id: id, current, user_agent: agent }) =>
          form({
            act: 'end',
            submit: current ? 'Sign out' : 'End',
            hidden: { id },
            kind: 'plain',
            label: `Sign out of ${browserOf(agent)}`,
          }),
      },
    ],
    sessions,
  )

/** What browsers call themselves is long; name and system are enough to know one again. */
function browserOf(agent: string): string {
  const name = /(Firefox|Edg|OPR|Chrome|Safari)\/[\d.]+/.exec(agent)?.[1]
  const system = /(Android|iPhone|iPad|Windows|Mac OS X|Linux)/.exec(agent)?.[1]
  const known = { Edg: 'Edge', OPR: 'Opera' }[name ?? ''] ?? name
  const words = [known, system].filter((word) => word !== undefined)
  return words.length > 0 ? words.join(', ') : agent.slice(0, 60) || 'unknown'
}
