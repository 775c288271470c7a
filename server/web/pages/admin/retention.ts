import type { RetentionReportJson } from '../../../rest/admin/retention.ts'
import { formatTime } from '../../format.ts'
import { type Html, type HtmlPart, html } from '../../html.ts'
import { ADMIN_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { cardTable } from '../../table.ts'

type Line = RetentionReportJson['data'][number]

/** `/admin/retention`: which data is stored how long, and evidence that the jobs follow it. */
export const retentionPage = (): AnyPage =>
  page('/admin/retention', {
    render: async ({ api }) => {
      const { data } = await api<RetentionReportJson>('GET /v1/admin/retention')
      return {
        title: 'Retention',
        tabs: ADMIN_TABS,
        main: html`<h1>Retention</h1><p class="lead">Which data is stored how long. Jobs delete what
has a limit; the journal and other evidence is permanent. The <a href="/admin/access">access
review</a> shows who may see it.</p>${retentionTable(data)}`,
      }
    },
  })

const KEPT_TEXTS: Readonly<Record<Line['kept'], (line: Line) => HtmlPart>> = {
  days: ({ days, setting }) =>
    html`${days === 0 ? 'until it expires' : days === 1 ? 'one more day' : `${days} days`}${
      setting !== null && html`<br><code class="small">${setting}</code>`
    }`,
  evidence: () => 'permanent',
  account: () => 'until its owner removes it',
  state: () => 'replaced as work goes on',
}

const retentionTable = (lines: readonly Line[]): Html =>
  cardTable(
    'Data',
    [
      {
        head: 'Data',
        cell: ({ name, description }) =>
          html`<strong>${name}</strong><br><span class="small muted">${description}</span>`,
      },
      { head: 'Stored', cell: (line) => KEPT_TEXTS[line.kept](line) },
      { head: 'Evidence', cell: evidenceOf },
    ],
    lines,
  )

function evidenceOf(line: Line): HtmlPart {
  if (line.protected !== null) {
    return line.protected ? 'The hub’s login cannot delete it.' : 'The hub’s login can delete it!'
  }
  if (line.deleted_by === null) return ''
  const oldest = line.oldest_at === null ? 'none stored' : formatTime(line.oldest_at)
  return html`<code>${line.deleted_by}</code><br><span class="small muted">oldest: ${oldest}${
    (line.overdue_rows ?? 0) > 0 && html`; <strong>${line.overdue_rows} overdue</strong>`
  }</span>`
}
