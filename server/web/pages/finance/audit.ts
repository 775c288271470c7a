import { z } from 'zod'
import { ACTS } from '../../../../core/audit/record.ts'
import { isJsonObject, type JsonObject } from '../../../../core/json.ts'
import { ASSETS } from '../../../../core/ledger/export/units.ts'
import type { AuditChainJson, AuditLineJson } from '../../../rest/admin/audit.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { filterBar, form, periodFilters, selectFilter, textFilter } from '../../form.ts'
import { optionalDay } from '../../form-schemas.ts'
import { formatTime, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState, flashMessage, successMessage } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, page } from '../../page.ts'
import { breakableHex, cardTable, pager, shortHash, withQuery } from '../../table.ts'
import { entryPath, formatAmount, formatSeconds } from './components.ts'
import { transferPath } from './wallet-transfers.ts'

const PATH = '/finance/audit'
const CHAIN = 'GET /v1/admin/audit/chain'
const PAGE_SIZE = '50'
const ACT_OPTIONS = Object.fromEntries([['', 'All acts'], ...ACTS.map((name) => [name, name])])

const ROLE_OPTIONS = {
  '': 'All roles',
  admin: 'Administrators',
  finance: 'Finance',
  auditor: 'Auditors',
  operator: 'Command line',
}

const verify = formAction({
  run: async ({ api }) => {
    const { broken_at: broken } = await api<AuditChainJson>(CHAIN)
    return {
      message:
        broken === null
          ? successMessage('Verified: no line was changed.')
          : flashMessage('bad', html`<p>A line was changed after it was written.</p>`),
    }
  },
})

/** `/finance/audit`: privileged acts with author and reason. */
export const auditPage = (): AnyPage =>
  page(PATH, {
    query: z.object({
      act: z.enum(['', ...ACTS]).default(''),
      subject: z.string().trim().max(300).default(''),
      name: z.string().trim().max(254).default(''),
      role: z.enum(['', 'admin', 'finance', 'auditor', 'operator']).default(''),
      from: optionalDay,
      to: optionalDay,
      cursor: z.string().max(500).optional(),
    }),
    changesBy: 'auditor',
    actions: { prove: verify },
    render: async ({ api, query }) => {
      const [found, chain] = await Promise.all([
        api<ListPage<AuditLineJson>>('GET /v1/admin/audit', {
          query: { ...query, limit: PAGE_SIZE },
        }),
        api<AuditChainJson>(CHAIN, { query: { read: 'new' } }),
      ])
      return {
        title: 'Audit log',
        tabs: FINANCE_TABS,
        main: html`<h1>Audit log</h1><p class="lead">Every privileged act with author and reason.
Lines cannot be changed.</p>${chainStatus(chain)}${filterBar(PATH, [
          selectFilter('act', 'Act', ACT_OPTIONS, query.act),
          textFilter('name', 'Author', query.name, 14),
          textFilter('subject', 'Subject', query.subject, 14),
          selectFilter('role', 'Role', ROLE_OPTIONS, query.role),
          periodFilters(query.from, query.to),
        ])}
${found.data.length === 0 ? emptyState('No matching acts.') : lineTable(found.data)}${pager(
  PATH,
  query,
  found.next_cursor,
)}`,
      }
    },
  })

const chainStatus = (chain: AuditChainJson): Html => {
  const { lines: count, head, broken_at: broken } = chain
  return broken === null
    ? html`<div class="box good"><p>${pluralize(count, 'line')}, each with the hash of the previous
one. ${verifiedWhen(chain)}${
        head !== null &&
        html` Last hash: ${breakableHex(head)}. Store it elsewhere to detect a rewrite of the log.`
      }</p>${form({ act: 'prove', submit: 'Verify again', kind: 'plain' })}</div>`
    : html`<div class="box bad" role="alert"><p><strong>Line ${broken} was changed after
it was written.</strong> Do not rely on this line or any later one.</p></div>`
}

const verifiedWhen = ({
  lines: count,
  all_read_at: at,
  all_read_lines: whole,
}: AuditChainJson): Html =>
  html`All lines verified at ${formatTime(at)}${
    count > whole && html`, the ${pluralize(count - whole, 'line')} since then just now`
  }.`

const lineTable = (rows: readonly AuditLineJson[]): Html =>
  cardTable(
    'Audit log',
    [
      { head: 'Line', number: true, cell: ({ seq }) => seq },
      { head: 'Time (UTC)', noWrap: true, cell: ({ at }) => formatSeconds(at) },
      {
        head: 'Author',
        cell: ({ name, role, via, network }) =>
          html`${name.startsWith('0x') ? shortHash(name) : name}<br><span
class="small muted">${role}${network !== null && `, ${network}`}${
            role === 'operator' && via !== null && `, ${via}`
          }</span>`,
      },
      {
        head: 'Act',
        cell: ({ act, subject }) =>
          html`${act}<br><span class="small">${subjectLink(act, subject)}</span>`,
      },
      { head: 'Reason', cell: ({ reason }) => reason },
      {
        head: 'Change',
        cell: ({ before, after }) =>
          html`${changeText(before)}${
            changeText(before) &&
            changeText(after) &&
            html`<br><span class="small muted">to</span><br>`
          }${changeText(after)}`,
      },
    ],
    rows,
  )

/** Subject of an act, linked to its page. */
function subjectLink(act: string, subject: string): Html {
  const [kind = ''] = act.split('.')
  if (kind === 'transfer') return shortHash(subject, transferPath(subject))
  const path = SUBJECT_PATHS[act] ?? SUBJECT_PATHS[kind]
  const code = html`<code>${subject}</code>`
  return path === undefined ? code : html`<a href="${path(subject)}">${code}</a>`
}

const SUBJECT_PATHS: Readonly<Record<string, (subject: string) => string>> = {
  'entry.propose': () => '/finance/adjustments',
  'entry.decline': () => '/finance/adjustments',
  entry: entryPath,
  call: entryPath,
  key: (key) => withQuery('/admin/keys', { key }),
  service: (slug) => withQuery('/admin', { slug }),
  role: () => '/admin/roles',
  period: () => '/finance/periods',
  exception: () => '/finance/exceptions?state=all',
  outgoing: () => '/finance/payments#switch',
  export: () => '/finance/exports',
}

/** Members of a recorded value, one per line. */
function changeText(value: unknown): Html | undefined {
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
        ? `${formatAmount(BigInt(textOf(inner)), asset)} ${asset}`
        : textOf(inner)
    return [`${name.replaceAll(/_|(?=[A-Z])/g, ' ').toLowerCase()}: ${text}`]
  })
}

/** True if `amount` is an amount of the asset that the value names, in its units, as text. */
const hasAmount = ({ amount, asset }: JsonObject): boolean =>
  /^-?\d+$/.test(String(amount)) && ASSETS.some((known) => known === asset)

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value.replace(/T00:00:00\.000Z$/, '') : JSON.stringify(value)
