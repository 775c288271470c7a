import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import type { Database } from 'agenthub/plugin'
import { openPlugin } from '../../core/catalog/services/open-plugin.ts'
import { systemClock } from '../../core/clock.ts'
import { startEmbedded } from '../../core/db/embedded.ts'
import { createLog } from '../../core/log.ts'
import { answer, type EndpointName } from '../../plugins/tenders/answers/answer.ts'
import plugin from '../../plugins/tenders/index.ts'
import { readNotice } from '../../plugins/tenders/parse/notice.ts'
import { openStore } from '../../plugins/tenders/store/store.ts'
import { injectedHost } from '../support/injected-host.ts'
import { newFolder } from './folder.ts'
import { below, type Report } from './report.ts'
import { tenderQuality } from './tenders/quality.ts'
import { fillTenders, syntheticDay } from './tenders/synthetic.ts'

const DAY_NOTICES = 3_190
const TENDERS = 200_000
const REQUEST = 150
const NOW = new Date('2026-11-20T09:30:00Z')
const MB = 1e6

/** Typical customer queries, each with its own filters. */
const QUESTIONS: readonly (readonly [EndpointName, Record<string, unknown>])[] = [
  ['feed', {}],
  ['feed', { country: 'DEU' }],
  ['feed', { cpv_prefix: '0931', status: 'open' }],
  ['feed', { country: 'FRA', label: 'high', limit: 100 }],
  ['feed', { status: 'closed' }],
  ['feed', { kind: 'result', country: 'POL', offset: 500 }],
  ['feed', { min_score: 80, offset: 2_000, limit: 100 }],
  ['feed', { status: 'awarded', cpv_prefix: '45' }],
  ['changes', {}],
  ['changes', { signal: 'deadline', country: 'ESP' }],
  ['changes', { event: 'cancelled', offset: 1_000 }],
  ['changes', { cpv_prefix: '0931', min_score: 70 }],
  ['brief', {}],
]

/**
 * Parses, normalizes and stores a day of notices, and measures queries over many tenders; on real
 * notices, if they are present, measures facts, changes and relevance.
 */
export async function tenders(data?: string): Promise<Report> {
  const dataDir = newFolder()
  const server = await startEmbedded({ dataDir })
  let database: Database | undefined
  const opened = await openPlugin(
    { ...plugin, open: (host) => plugin.open({ ...host, database: (database = host.database) }) },
    { host: injectedHost, databaseUrl: server.url, log: createLog('silent') },
  )
  try {
    const day = await storeDay(database!)
    await fillTenders(database!, TENDERS, NOW)
    const measured = await askMany(database!)
    const quality = tenderQuality(data === undefined ? undefined : pathToFileURL(`${data}/`))
    const figures = { ...day, ...measured.figures, ...quality.figures }
    return {
      name: 'tenders',
      figures,
      tables: [measured.table, ...(quality.tables ?? [])],
      targets: [
        below('a day of 3,190 notices, s', day.day_s, 60),
        below('memory while a day is stored, MB', day.rss_mb, 400),
        ...quality.targets,
        ...measured.p99.map(([name, ms]) => below(`p99 of ${name}, ms`, ms, 30)),
      ],
    }
  } finally {
    await opened.close()
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** Size of the journal's largest day, with documents of realistic size. */
async function storeDay(database: Database) {
  const store = openStore(database, systemClock)
  const snapshot = await store.openSnapshot({ day: '2026-11-19', source: 'live' })
  let bytes = 0
  let parse = 0
  let rss = 0
  const start = performance.now()
  for (const xml of syntheticDay(DAY_NOTICES, '2026-11-19')) {
    bytes += xml.byteLength
    const { outcome } = await store.accept({ xml, snapshot })
    if (outcome !== 'stored') throw new Error(`a notice was ${outcome}`)
    rss = Math.max(rss, process.memoryUsage.rss())
  }
  await store.closeSnapshot(snapshot)
  const seconds = (performance.now() - start) / 1_000
  rss = Math.max(rss, process.memoryUsage.rss())
  for (const xml of syntheticDay(200, '2026-11-18')) {
    const begun = performance.now()
    readNotice(xml)
    createHash('sha256').update(xml).digest()
    parse += performance.now() - begun
  }
  const round = (value: number): number => Math.round(value * 10) / 10
  return {
    day_mb: round(bytes / MB),
    day_s: round(seconds),
    parse_normalise_store_mb_s: round(bytes / MB / seconds),
    parse_normalise_mb_s: round(((bytes / DAY_NOTICES) * 200) / MB / (parse / 1_000)),
    rss_mb: round(rss / MB),
  }
}

async function askMany(database: Database) {
  const figures: Record<string, number> = {} // the first brief after a day was closed is read anew
  const times = new Map<EndpointName, number[]>()
  const rows: (string | number)[][] = []
  for (const [question, given] of QUESTIONS) {
    const start = performance.now()
    await answer(database, question, given, NOW)
    if (question === 'brief') figures['brief_first_ms'] = rounded(performance.now() - start)
    const own: number[] = []
    for (let n = 0; n < REQUEST; n += 1) {
      const begun = performance.now()
      await answer(database, question, given, new Date(NOW.getTime() + n * 1_000))
      own.push(performance.now() - begun)
    }
    times.set(question, [...(times.get(question) ?? []), ...own])
    rows.push([question, JSON.stringify(given), at(own, 0.5), at(own, 0.99)])
  }
  const p99 = [...times].map(([question, all]) => [question, at(all, 0.99)] as const)
  const columns = ['endpoint', 'query', 'p50 ms', 'p99 ms']
  return {
    p99,
    figures: { ...figures, ...Object.fromEntries(p99.map(([name, ms]) => [`${name}_p99_ms`, ms])) },
    table: { title: `Answers over ${TENDERS.toLocaleString('en-US')} tenders`, columns, rows },
  }
}

const at = (times: readonly number[], share: number): number => {
  const sorted = [...times].sort((a, b) => a - b)
  return rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100
