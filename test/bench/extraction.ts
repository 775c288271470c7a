/**
 * Quality of article extraction from real pages compared with two libraries, by the metric of the
 * public article-extraction-benchmark.
 */
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isExact, type Match, matchOf, type Scores, scoresOf } from './extraction/metric.ts'
import { FOLDS, type Page, readPages } from './extraction/pages.ts'
import { EXTRACTORS, type Extractor } from './extraction/peers.ts'
import { round, scoreDeviation, targetsOf } from './extraction/targets.ts'
import type { Report, Target } from './report.ts'

const DATA = fileURLToPath(new URL('../../../shared/data/article-extraction/', import.meta.url))
const HALVES = ['held', 'tune', 'all'] as const

interface Result {
  readonly matches: readonly Match[]
  readonly exact: number
  readonly cpuMs: number
}

async function run(extractor: Extractor, pages: readonly Page[]): Promise<Result> {
  const start = process.cpuUsage()
  const texts: string[] = []
  for (const { html, url } of pages) texts.push(await extractor(html, url).catch(() => ''))
  const { user, system } = process.cpuUsage(start)
  return {
    matches: pages.map(({ truth }, at) => matchOf(truth, texts[at]!)),
    exact: pages.filter(({ truth }, at) => isExact(truth, texts[at]!)).length / pages.length,
    cpuMs: (user + system) / 1_000 / pages.length,
  }
}

const cell = (value: number, std?: number): string =>
  value.toFixed(3) + (std === undefined ? '' : ` ± ${std.toFixed(3)}`)

function rowOf(name: string, half: string, { matches, exact, cpuMs }: Result) {
  const { f1, precision, recall } = scoresOf(matches)
  const std = (field: keyof Scores): number => scoreDeviation(matches, field)
  return [
    name,
    half,
    matches.length,
    cell(f1, std('f1')),
    cell(precision, std('precision')),
    cell(recall, std('recall')),
    cell(exact),
    `${cpuMs.toFixed(1)} ms`,
  ]
}

/** Selects the results of one half of the pages. */
const part = (result: Result, wanted: readonly boolean[]): Result => {
  const matches = result.matches.filter((_, at) => wanted[at])
  const exact = matches.filter(({ surplus, missed }) => surplus + missed === 0).length
  return { matches, exact: exact / matches.length, cpuMs: result.cpuMs }
}

/** Ways to measure other configurations of the extractor. */
export type Mode = 'ablate' | 'tune'

/**
 * @param data folder in the benchmark's format. Of the project's own pages only the half not used
 * for tuning counts; of other folders all pages count.
 * @param mode measures what each rule earns, or cross-validates the thresholds
 * @param checkpoints directory in which these two keep the pages that they have measured
 */
export async function extraction(
  data?: string,
  mode?: Mode,
  checkpoints?: string,
): Promise<Report> {
  const folder = data ?? DATA
  if (mode === 'tune') return (await import('./extraction/tuning.ts')).tuning(folder, checkpoints)
  if (mode === 'ablate') {
    return (await import('./extraction/ablation.ts')).ablation(folder, checkpoints)
  }
  const pages = readPages(folder)
  const halves = data === undefined ? HALVES : (['all', ...FOLDS] as const)
  const results: [string, Result][] = []
  for (const [name, extractor] of Object.entries(EXTRACTORS)) {
    results.push([name, await run(extractor, pages)])
  }
  const figures: Record<string, number> = {}
  const rows: (string | number)[][] = []
  const targets: Target[] = []
  for (const half of halves) {
    const wanted = pages.map((page) => half === 'all' || page.half === half || page.fold === half)
    if (!wanted.includes(true)) continue
    const parts = results.map(([name, result]) => [name, part(result, wanted)] as const)
    for (const [name, result] of parts) {
      const { f1, precision, recall } = scoresOf(result.matches)
      const scores = { f1, precision, recall, accuracy: result.exact }
      for (const [field, value] of Object.entries(scores)) {
        figures[`${name}_${field}_${half.replace(' ', '_')}`] = round(value)
      }
      figures[`${name}_cpu_ms_per_page`] = round(result.cpuMs)
      rows.push(rowOf(name, half, result))
    }
    if (half === halves[0]) {
      const { agenthub, ...peers } = Object.fromEntries(
        parts.map(([name, { matches }]) => [name, matches]),
      )
      targets.push(...targetsOf(basename(folder), agenthub!, peers))
    }
  }
  const columns = ['extractor', 'pages', 'n', 'F1', 'precision', 'recall', 'accuracy', 'CPU/page']
  return { name: 'extraction', figures, targets, tables: [{ title: 'Articles', columns, rows }] }
}
