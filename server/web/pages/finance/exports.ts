import { z } from 'zod'
import type { ExportJson } from '../../../rest/finance/exports.ts'
import type { Listed } from '../../../rest/paging.ts'
import { FINANCE } from '../../areas.ts'
import { ticked } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { count, instantText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { cardTable, hex, pager } from '../../table.ts'
import { optionalDay, reason, reasonField } from './parts.ts'

const PATH = '/finance/exports'
const PAGE = '20'
const FORMATS = {
  csv: 'CSV, for spreadsheets',
  jsonl: 'JSON lines, for auditors',
  hledger: 'hledger',
  ledger: 'ledger',
  beancount: 'beancount',
}

/** `/finance/exports`: exports of the journal, asked for, on their way, and to be downloaded. */
export const exportsPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({ cursor: z.string().max(500).optional() }),
    acts: {
      start: act({
        fields: z.object({
          format: z.enum(Object.keys(FORMATS) as [keyof typeof FORMATS]),
          from: optionalDay,
          to: optionalDay,
          account: z.string().trim().max(300).default(''),
          opening: ticked,
          reason,
        }),
        run: async ({ ask }, { account, ...body }) => {
          await ask('POST /v1/finance/exports', {
            body: { ...body, ...(account !== '' && { account }) },
          })
          return { to: `${PATH}?done=started` }
        },
      }),
    },
    done: { started: 'The export is on its way. Its file is here when it is whole.' },
    show: async (request) => {
      const { cursor } = request.query
      const found = await request.ask<Listed<ExportJson>>('GET /v1/finance/exports', {
        query: { limit: PAGE, cursor },
      })
      const isBusy = found.data.some(({ state }) => state === 'waiting' || state === 'writing')
      return {
        title: 'Exports',
        area: FINANCE,
        tab: 'Exports',
        main: html`<h1>Exports</h1><p class="lead">The journal as a file. What it covers is fixed
when it is asked for, so that the same export has the same bytes for ever.</p>${
          isBusy &&
          html`<p class="actions"><a class="button plain" href="${PATH}">See how far
they are</a></p>`
        }${
          found.data.length === 0 ? empty('Nothing was exported yet.') : exportTable(found.data)
        }${pager(PATH, { cursor }, found.next_cursor)}${startForm(request)}`,
      }
    },
  })

const exportTable = (rows: readonly ExportJson[]): Html =>
  cardTable(
    'Exports',
    [
      {
        head: 'What',
        cell: ({ title, format, sha256 }) =>
          html`${title}<br><span class="small muted">${format}${
            sha256 !== null && html`, sha256 of the text:<br>${hex(sha256)}`
          }</span>`,
      },
      {
        head: 'Asked for',
        cell: (each) => html`<span class="whole">${instantText(each.asked_at)}</span><br>
<span class="small muted">${each.asked_by}</span>`,
      },
      { head: 'Entries', number: true, cell: ({ entries }) => count(entries) },
      { head: 'File', cell: (each) => progress(each) },
    ],
    rows,
  )

function progress(each: ExportJson): Html {
  const { state, file, entries, entries_total: total, bytes } = each
  if (file !== null) {
    return html`<a class="button" download href="${file}" aria-label="Download: ${each.title}, ${
      each.format
    }">Download</a> <span class="small muted">${count(bytes)} bytes of text, packed by
gzip</span>`
  }
  if (state === 'failed') return html`<span class="badge bad">failed</span> ${each.failure ?? ''}`
  if (state === 'dropped') return html`<span class="muted">no longer kept</span>`
  const said = state === 'waiting' ? 'waiting' : `${count(entries)} of ${count(total)}`
  return html`<progress max="${total}" value="${entries}" aria-label="${each.title}">${said}
</progress> <span class="small">${said}</span>`
}

function startForm({ sent }: PageRequest): Html {
  const fields = fieldsOf('start', sent)
  return html`<h2 id="start">Start an export</h2>${form({
    act: 'start',
    submit: 'Start',
    fields: [
      fields.select({ name: 'format', label: 'Format', required: true }, FORMATS),
      fields.text({ name: 'from', label: 'From', type: 'date', hint: 'By value date (UTC).' }),
      fields.text({ name: 'to', label: 'To', type: 'date' }),
      fields.text({
        name: 'account',
        label: 'Account',
        hint: 'Entries that touch it; with a colon at its end, all accounts that begin so.',
        max: 300,
      }),
      fields.check({
        name: 'opening',
        label: 'Begin with the balances before the first day',
        hint: 'For hledger, ledger and beancount.',
      }),
      reasonField(fields),
    ],
  })}`
}
