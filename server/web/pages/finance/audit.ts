import { z } from 'zod'
import { ACTS } from '../../../../core/audit/audit.ts'
import { isJsonObject, type JsonObject } from '../../../../core/json.ts'
import { ASSETS } from '../../../../core/ledger/export/format.ts'
import type { AuditChainJson, AuditLineJson } from '../../../rest/admin/audit.ts'
import type { Listed } from '../../../rest/paging.ts'
import { filterField, filters, form, optionsOf } from '../../form.ts'
import { counted, instantText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty, notice, outcome } from '../../messages.ts'
import { FINANCE } from '../../navigation.ts'
import { type AnyPage, act, page } from '../../page.ts'
import { address, cardTable, hex, pager } from '../../table.ts'
import { entryPath, optionalDay, precise, units } from './components.ts'
import { transferPath } from './wallet-transfers.ts'

const PATH = '/finance/audit'
const CHAIN = 'GET /v1/admin/audit/chain'
const PAGE = '50'
const CHOICES = Object.fromEntries([['', 'every act'], ...ACTS.map((name) => [name, name])])

const prove = act({
  fields: z.object({}),
  run: async ({ ask }) => {
    const { broken_at: broken } = await ask<AuditChainJson>(CHAIN)
    return {
      told:
        broken === null
          ? notice('Every line is as it was written.')
          : outcome('bad', html`<p>Not every line is as it was written.</p>`),
    }
  },
})

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
    acts: { prove },
    show: async ({ ask, query }) => {
      const [found, chain] = await Promise.all([
        ask<Listed<AuditLineJson>>('GET /v1/admin/audit', { query: { ...query, limit: PAGE } }),
        ask<AuditChainJson>(CHAIN, { query: { read: 'new' } }),
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
    html`<input id="filter-${name}" name="${name}" value="${value}" size="14" autocomplete="off">`,
  )

const dayFilter = (name: string, label: string, value: string | undefined): Html =>
  filterField(
    name,
    label,
    html`<input type="date" id="filter-${name}" name="${name}" value="${value ?? ''}">`,
  )

const proof = (chain: AuditChainJson): Html => {
  const { lines: count, head, broken_at: broken } = chain
  return broken === null
    ? html`<div class="box good"><p>${counted(count, 'line')}, each with the hash of the one
before. ${readWhen(chain)}${
        head !== null &&
        html` The last is ${hex(head)}: keep it elsewhere, and nobody can rewrite them unnoticed.`
      }</p>${form({ act: 'prove', submit: 'Read all again', kind: 'plain' })}</div>`
    : html`<div class="box bad" role="alert"><p><strong>Line ${broken} is not as it was
written.</strong> Nothing from there on can be relied upon.</p></div>`
}

const readWhen = ({ lines: count, all_read_at: at, all_read_lines: whole }: AuditChainJson): Html =>
  html`All were read and proved at ${instantText(at)}${
    count > whole && html`, the ${counted(count - whole, 'line')} since then just now`
  }.`

const lines = (rows: readonly AuditLineJson[]): Html =>
  cardTable(
    'Audit log',
    [
      { head: 'Line', number: true, cell: ({ seq }) => seq },
      { head: 'When (UTC)', whole: true, cell: ({ at }) => precise(at) },
      {
        head: 'Who',
        cell: ({ name, role, network }) =>
          html`${name.startsWith('0x') ? hex(name) : name}<br><span class="small muted">${role}${
            network !== null && `, ${network}`
          }</span>`,
      },
      {
        head: 'Act',
        cell: ({ act, subject }) =>
          html`${act}<br><span class="small">${about(act, subject)}</span>`,
      },
      { head: 'Why', cell: ({ reason }) => reason },
      {
        head: 'Before, after',
        cell: ({ before, after }) =>
          html`${change(before)}${
            change(before) && change(after) && html`<br><span class="small muted">then</span><br>`
          }${change(after)}`,
      },
    ],
    rows,
  )

/** What an act was done to, and where that is to be seen. */
function about(act: string, subject: string): Html {
  const [kind = ''] = act.split('.')
  if (kind === 'transfer') return html`<a href="${transferPath(subject)}">${hex(subject)}</a>`
  const path = PLACES[act] ?? PLACES[kind]
  const code = html`<code>${subject}</code>`
  return path === undefined ? code : html`<a href="${path(subject)}">${code}</a>`
}

const PLACES: Readonly<Record<string, (subject: string) => string>> = {
  'entry.propose': () => '/finance/adjustments',
  'entry.decline': () => '/finance/adjustments',
  entry: entryPath,
  call: entryPath,
  key: (key) => address('/admin/keys', { key }),
  service: (slug) => address('/admin', { slug }),
  role: () => '/admin/roles',
  period: () => '/finance/periods',
  exception: () => '/finance/exceptions?state=all',
  outgoing: () => '/finance/payments#switch',
  export: () => '/finance/exports',
}

/** Members of a change, one below the other. */
function change(value: unknown): Html | undefined {
  const members = membersOf(value)
  if (members.length === 0) return undefined
  return html`<span class="small">${members.map((text, i) => html`${i > 0 && html`<br>`}${text}`)}
</span>`
}

function membersOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(membersOf)
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    if (inner === undefined || (name === 'asset' && hasAmount(value))) return []
    if (Array.isArray(inner) && inner.some(isJsonObject)) return membersOf(inner)
    const asset = String(value['asset'])
    const text =
      name === 'amount' && hasAmount(value)
        ? `${units(BigInt(textOf(inner)), asset)} ${asset}`
        : textOf(inner)
    return [`${name.replaceAll(/_|(?=[A-Z])/g, ' ').toLowerCase()}: ${text}`]
  })
}

/** The log keeps amounts in units of their asset, as texts; the asset stands beside. */
const hasAmount = ({ amount, asset }: JsonObject): boolean =>
  /^-?\d+$/.test(String(amount)) && ASSETS.some((known) => known === asset)

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value.replace(/T00:00:00\.000Z$/, '') : JSON.stringify(value)
