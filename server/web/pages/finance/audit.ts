import { z } from 'zod'
import { ACTS } from '../../../../core/audit/audit.ts'
import type { AuditChainJson, AuditLineJson } from '../../../rest/admin-audit.ts'
import type { Listed } from '../../../rest/paging.ts'
import { FINANCE } from '../../areas.ts'
import { filterField, filters, optionsOf } from '../../form.ts'
import { counted } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, page } from '../../page.ts'
import { pager, table } from '../../table.ts'
import { optionalDay, precise } from './parts.ts'

const PATH = '/finance/audit'
const PAGE = '50'
const CHOICES = Object.fromEntries([['', 'every act'], ...ACTS.map((name) => [name, name])])

/** `/finance/audit`: who did what, and why. */
export const auditPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({
      act: z.enum(['', ...ACTS]).default(''),
      subject: z.string().trim().max(300).default(''),
      name: z.string().trim().max(254).default(''),
      from: optionalDay,
      to: optionalDay,
      cursor: z.string().max(500).optional(),
    }),
    show: async ({ ask, query }) => {
      const [found, chain] = await Promise.all([
        ask<Listed<AuditLineJson>>('GET /v1/admin/audit', { query: { ...query, limit: PAGE } }),
        ask<AuditChainJson>('GET /v1/admin/audit/chain'),
      ])
      return {
        title: 'Audit log',
        area: FINANCE,
        tab: 'Audit log',
        main: html`<h1>Audit log</h1><p class="lead">Every privileged act: who, what, and why. The
database lets nobody change a line.</p>${proof(chain)}${filters(PATH, [
          filterField(
            'act',
            'Act',
            html`<select id="filter-act" name="act">${optionsOf(CHOICES, query.act)}</select>`,
          ),
          textFilter('name', 'Who', query.name),
          textFilter('subject', 'Of what', query.subject),
          dayFilter('from', 'From', query.from),
          dayFilter('to', 'To', query.to),
        ])}
${found.data.length === 0 ? empty('Nothing of this kind was done.') : lines(found.data)}${pager(
  PATH,
  query,
  found.next_cursor,
)}`,
      }
    },
  })

const textFilter = (name: string, label: string, value: string): Html =>
  filterField(
    name,
    label,
    html`<input id="filter-${name}" name="${name}" value="${value}" size="18" autocomplete="off">`,
  )

const dayFilter = (name: string, label: string, value: string | undefined): Html =>
  filterField(
    name,
    label,
    html`<input type="date" id="filter-${name}" name="${name}" value="${value ?? ''}">`,
  )

const proof = ({ lines: count, head, broken_at: broken }: AuditChainJson): Html =>
  broken === null
    ? html`<div class="box good"><p>${counted(count, 'line')}, each with the hash of the one
before.${
        head !== null &&
        html` The last is <code>${head}</code>: keep it elsewhere, and nobody can rewrite them
unnoticed.`
      }</p></div>`
    : html`<div class="box bad" role="alert"><p><strong>Line ${broken} is not as it was
written.</strong> Nothing from there on can be relied upon.</p></div>`

const lines = (rows: readonly AuditLineJson[]): Html =>
  table(
    'Audit log',
    [
      { head: 'Line', number: true, cell: ({ seq }) => seq },
      { head: 'When (UTC)', whole: true, cell: ({ at }) => precise(at) },
      {
        head: 'Who',
        cell: ({ name, role, network }) =>
          html`<code>${name}</code><br><span class="small muted">${role}${
            network !== null && `, ${network}`
          }</span>`,
      },
      {
        head: 'Act',
        cell: ({ act, subject }) => html`${act}<br><code class="small">${subject}</code>`,
      },
      { head: 'Why', cell: ({ reason }) => reason },
      { head: 'Before', cell: ({ before }) => change(before) },
      { head: 'After', cell: ({ after }) => change(after) },
    ],
    rows,
  )

/** Members of a change, one below the other. */
function change(value: unknown): Html | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return html`<span class="small">${members.map(
    ([name, inner], i) =>
      html`${i > 0 && html`<br>`}${name.replaceAll('_', ' ')}: ${
        typeof inner === 'string' ? inner : JSON.stringify(inner)
      }`,
  )}</span>`
}
