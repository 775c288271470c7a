import type { Report, Table } from '../report.ts'
import { type MatchesByKind, measureAll } from './measure.ts'
import { scoresOf } from './metric.ts'
import { FILES, RULES } from './variants.ts'

const signed = (value: number): string => (Math.abs(value) < 0.000_05 ? '–' : value.toFixed(4))

function lossTable(
  title: string,
  names: readonly string[],
  shipped: MatchesByKind,
  measured: ReadonlyMap<string, MatchesByKind>,
): Table {
  const kinds = Object.keys(shipped)
  const rows = names.map((name) => [
    name,
    ...kinds.map((kind) =>
      signed(scoresOf(shipped[kind]!).f1 - scoresOf(measured.get(name)![kind]!).f1),
    ),
  ])
  return { title, columns: ['left out', ...kinds], rows }
}

/** Measures what each file and each rule earns on pages of each kind. */
export async function ablation(folder: string): Promise<Report> {
  const files = Object.keys(FILES)
  const rules = Object.keys(RULES)
  const names = [...files, ...rules]
  const [shipped, ...matches] = await measureAll(folder, [[], ...names.map((name) => [name])])
  const measured = new Map(names.map((name, at) => [name, matches[at]!]))
  const tables = [
    lossTable('F1 lost without each file', files, shipped!, measured),
    lossTable('F1 lost without each rule', rules, shipped!, measured),
  ]
  return { name: 'extraction', figures: {}, targets: [], tables }
}
