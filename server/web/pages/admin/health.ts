import type { HealthBoardJson } from '../../../rest/admin/health.ts'
import { formatCount, formatPercent, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { ADMIN_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { cardTable } from '../../table.ts'

type Check = HealthBoardJson['checks'][number]

const TITLES: Readonly<Record<Check['area'], string>> = {
  shards: 'Shard, entries without a signed checkpoint',
  heads: 'Tree of all shards',
  verification: 'Verification of the ledger',
  reconciliation: 'Reconciliation with the chain',
  jobs: 'Job, last success',
  queues: 'Queue, oldest item',
  subscribers: 'Subscriber, entries to handle',
  replicas: 'Replica, unconfirmed log',
  backups: 'Backup, last success',
  indexes: 'Indexes',
  disk: 'Disk',
  chain: 'Blockchain',
}

/** `/admin/health`: state of shards, jobs, queues, backups, indexes, disk and chain. */
export const healthPage = (): AnyPage =>
  page('/admin/health', {
    render: async ({ api }) => {
      const { checks } = await api<HealthBoardJson>('GET /v1/admin/health')
      const bad = checks.filter(({ good }) => !good)
      return {
        title: 'Health',
        tabs: ADMIN_TABS,
        main: html`<h1>Health</h1><div class="box ${bad.length > 0 ? 'bad' : 'good'}"><p><strong>${
          bad.length > 0
            ? `${pluralize(bad.length, 'check')} failed.`
            : `All ${checks.length} checks passed.`
        }</strong> The limits are those of the alerts in the
<a href="/docs/operations">deployment kit</a>.</p></div>${
          bad.length > 0 && html`<h2>Failed checks</h2>${checkTable('Failed checks', bad)}`
        }<h2>All checks</h2>${checkTable('All checks', checks)}`,
      }
    },
  })

const checkTable = (label: string, checks: readonly Check[]): Html =>
  cardTable(
    label,
    [
      { head: 'Area', cell: ({ area }) => TITLES[area] },
      { head: 'Name', cell: ({ name }) => html`<code>${name}</code>` },
      {
        head: 'State',
        cell: ({ good }) =>
          html`<span class="badge ${good ? 'good' : 'bad'}">${good ? 'good' : 'failed'}</span>`,
      },
      { head: 'Value', number: true, cell: formatValue },
    ],
    checks,
  )

function formatValue({ value, unit }: Check): string {
  if (value === null) return 'none yet'
  if (unit === 'seconds') return formatAge(value)
  if (unit === 'percent') return formatPercent(value)
  if (unit === 'bytes') return `${formatCount(Math.round(value / 2 ** 20))} MiB`
  return formatCount(value)
}

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400

/** `42 s`, `3 min`, `5 h`, `2 d` */
const formatAge = (seconds: number): string => {
  if (seconds < 2 * MINUTE) return `${seconds} s`
  if (seconds < 2 * HOUR) return `${Math.floor(seconds / MINUTE)} min`
  return seconds < 2 * DAY ? `${Math.floor(seconds / HOUR)} h` : `${Math.floor(seconds / DAY)} d`
}
