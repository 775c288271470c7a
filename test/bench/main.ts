import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { Mode } from './extraction.ts'
import type { Report, Table } from './report.ts'

type Benchmark = (
  data?: string,
  entries?: string,
  mode?: Mode,
  checkpoints?: string,
) => Promise<Report>

/** Benchmarks by name, loaded on demand so that each has only its own modules in memory. */
const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  'analysis-quality': async (data) => (await import('./analysis/quality.ts')).analysisQuality(data),
  'analysis-speed': async () => (await import('./analysis/speed.ts')).analysisSpeed(),
  auth: async () => (await import('./auth.ts')).auth(),
  cluster: async () => (await import('./cluster.ts')).cluster(),
  'cluster-simulation': async () => (await import('./cluster-simulation.ts')).clusterSimulation(),
  discovery: async () => (await import('./discovery.ts')).discovery(),
  extraction: async (data, _, mode, checkpoints) =>
    (await import('./extraction.ts')).extraction(data, mode, checkpoints),
  growth: async (_, entries) => (await import('./growth.ts')).growth(entries),
  ledger: async () => (await import('./ledger.ts')).ledger(),
  'ledger-history': async (_, entries) =>
    (await import('./ledger-history.ts')).ledgerHistory(entries),
  mcp: async () => (await import('./mcp.ts')).mcp(),
  openapi: async (data) => (await import('./openapi.ts')).openApiImports(data),
  'provider-statistics': async () =>
    (await import('./provider-statistics.ts')).providerStatistics(),
  receipts: async (_, entries) => (await import('./receipts.ts')).receipts(entries),
  rendering: async () => (await import('./rendering.ts')).rendering(),
  search: async (data) => (await import('./search.ts')).search(data),
  tenders: async (data) => (await import('./tenders.ts')).tenders(data),
  upstream: async () => (await import('./upstream.ts')).upstream(),
  web: async (data) => (await import('./web.ts')).web(data),
  x402: async () => (await import('./x402.ts')).x402(),
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    data: { type: 'string' },
    entries: { type: 'string' },
    ablate: { type: 'boolean' },
    tune: { type: 'boolean' },
    checkpoints: { type: 'string' },
  },
})
const run = BENCHMARKS[positionals[0] ?? '']
if (!run) {
  console.error(
    'usage: npm run bench -- NAME [--json] [--data DIR] [--entries N,N]\n%s\n%s',
    '       [(--ablate | --tune) [--checkpoints DIR]]',
    `NAME: ${Object.keys(BENCHMARKS).join(', ')}`,
  )
  process.exit(2)
}
const mode = values.tune ? 'tune' : values.ablate ? 'ablate' : undefined
const report = await run(values.data, values.entries, mode, values.checkpoints)
const machine = `${process.platform} ${process.arch}, ${cpus().length} × ${cpus()[0]?.model ?? '?'}`
if (values.json) console.log(JSON.stringify({ ...report, machine }))
else print(report, machine)
process.exit(0)

function print({ name, figures, tables = [], targets }: Report, machine: string): void {
  console.log(`\n${name} on ${machine}\n`)
  tables.forEach(printTable)
  for (const [figure, value] of Object.entries(figures)) {
    console.log(`  ${figure.padEnd(36)} ${value.toLocaleString('en-US').padStart(12)}`)
  }
  console.log('')
  for (const { name: target, goal, value, met } of targets) {
    console.log(`  ${met ? 'met   ' : 'missed'}  ${target}: ${value} (goal ${goal})`)
  }
}

function printTable({ title, columns, rows }: Table): void {
  const text = (cell: string | number) =>
    typeof cell === 'number' ? cell.toLocaleString('en-US') : cell
  const lines = [columns, ...rows].map((row) => row.map(text))
  const width = (column: number) => Math.max(...lines.map((line) => line[column]!.length))
  console.log(`  ${title}\n`)
  for (const line of lines) {
    const cells = line.map((cell, i) => (i < 2 ? cell.padEnd(width(i)) : cell.padStart(width(i))))
    console.log(`  ${cells.join('  ')}`)
  }
  console.log('')
}
