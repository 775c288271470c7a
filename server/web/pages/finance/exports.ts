import { z } from 'zod'
import type { ExportJson } from '../../../rest/finance/exports.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { REFRESH_SCRIPT } from '../../assets.ts'
import { form, formFields } from '../../form.ts'
import { checkbox, optionalDay } from '../../form-schemas.ts'
import { formatCount } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, pager, shortHash, timeAgo } from '../../table.ts'
import { reason, reasonField } from './components.ts'

const PATH = '/finance/exports'
const PAGE_SIZE = '20'
const FORMATS = {
  csv: 'CSV, for spreadsheets',
  jsonl: 'JSON Lines, for auditors',
  hledger: 'hledger',
  ledger: 'ledger',
  beancount: 'beancount',
}

/** `/finance/exports`: exports of the journal with their progress and downloads. */
export const exportsPage = (): AnyPage =>
  page(PATH, {
    query: z.object({ cursor: z.string().max(500).optional() }),
    changesBy: 'auditor',
    actions: {
      start: formAction({
        fields: z.object({
          format: z.enum(Object.keys(FORMATS) as [keyof typeof FORMATS]),
          from: optionalDay,
          to: optionalDay,
          account: z.string().trim().max(300).default(''),
          opening: checkbox,
          all_assets: checkbox,
          reason,
        }),
        run: async ({ api }, { account, ...body }) => {
          await api('POST /v1/finance/exports', {
            body: { ...body, ...(account !== '' && { account }) },
          })
          return { to: `${PATH}?done=started` }
        },
      }),
    },
    notices: { started: 'Export started. You can download it here when it is complete.' },
    render: async (request) => {
      const { cursor } = request.query
      const found = await request.api<ListPage<ExportJson>>('GET /v1/finance/exports', {
        query: { limit: PAGE_SIZE, cursor },
      })
      const isBusy = found.data.some(({ state }) => state === 'waiting' || state === 'writing')
      return {
        title: 'Exports',
        tabs: FINANCE_TABS,
        ...(isBusy && { scripts: [REFRESH_SCRIPT] }),
        main: html`<h1>Exports</h1><p class="lead">The journal as a file. An export covers the
entries at the time of the request, so that its content never changes.</p>
<div id="exports"${isBusy && html` data-busy`}>${
          isBusy &&
          html`<noscript><p class="actions"><a class="button plain" href="${PATH}">Refresh
progress</a></p></noscript>`
        }${
          found.data.length === 0 ? emptyState('No exports yet.') : exportTable(found.data)
        }</div>${pager(PATH, { cursor }, found.next_cursor)}${startForm(request)}`,
      }
    },
  })

const exportTable = (rows: readonly ExportJson[]): Html =>
  cardTable(
    'Exports',
    [
      {
        head: 'Export',
        cell: ({ title, format, sha256 }) =>
          html`${title}<br><span class="small muted">${format}${
            sha256 !== null && html`, SHA-256 of the text:<br>${shortHash(sha256)}`
          }</span>`,
      },
      {
        head: 'Requested',
        cell: (each) => html`<span class="nowrap">${timeAgo(each.asked_at)}</span><br>
<span class="small muted">${each.asked_by}</span>`,
      },
      { head: 'Entries', number: true, cell: ({ entries }) => formatCount(entries) },
      { head: 'File', cell: (each) => progress(each) },
    ],
    rows,
  )

function progress(each: ExportJson): Html {
  const { state, file, entries, entries_total: total, bytes } = each
  if (file !== null) {
    return html`<a class="button" download href="${file}" aria-label="Download: ${each.title}, ${
      each.format
    }">Download</a> <span class="small muted">${formatCount(bytes)} bytes of text, compressed with
gzip</span>`
  }
  if (state === 'failed') return html`<span class="badge bad">failed</span> ${each.failure ?? ''}`
  if (state === 'dropped') return html`<span class="muted">deleted</span>`
  const text = state === 'waiting' ? 'waiting' : `${formatCount(entries)} of ${formatCount(total)}`
  return html`<progress max="${total}" value="${entries}" aria-label="${each.title}">${text}
</progress> <span class="small">${text}</span>`
}

function startForm({ submission }: PageRequest): Html {
  const fields = formFields('start', submission)
  return html`<h2 id="start">Start an export</h2>${form({
    act: 'start',
    submit: 'Start export',
    fields: [
      fields.select({ name: 'format', label: 'Format', required: true }, FORMATS),
      fields.text({
        name: 'from',
        label: 'From',
        type: 'date',
        hint: 'First day by value date (UTC).',
      }),
      fields.text({ name: 'to', label: 'To', type: 'date' }),
      fields.text({
        name: 'account',
        label: 'Account',
        hint: 'Only entries of this account. End with a colon for all accounts with this prefix.',
        max: 300,
      }),
      fields.check({
        name: 'opening',
        label: 'Start with opening balances',
        hint: 'For hledger, ledger and beancount.',
      }),
      fields.check({
        name: 'all_assets',
        label: 'Include free calls and allowances',
        hint: 'JSONL always includes them.',
      }),
      reasonField(fields),
    ],
  })}`
}
