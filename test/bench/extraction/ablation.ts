import type { Report } from '../report.ts'
import { Definitions } from './definitions.ts'
import { type MatchesByKind, measureAll } from './measure.ts'
import { type Match, scoresOf } from './metric.ts'
import { RULES } from './variants.ts'

const EXTRACTOR = new URL('../../../plugins/content/extract/', import.meta.url)

const signed = (value: number): string => (Math.abs(value) < 0.000_05 ? '–' : value.toFixed(4))

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

/** Returns the standard error of the mean difference between the F1 of pages. */
function errorOf(one: readonly Match[], other: readonly Match[]): number {
  const differences = one.map((match, at) => scoresOf([match]).f1 - scoresOf([other[at]!]).f1)
  const middle = mean(differences)
  const variance = mean(differences.map((value) => (value - middle) ** 2))
  return Math.sqrt(variance / Math.max(1, differences.length))
}

const isSame = (one: Match, other: Match): boolean =>
  one.hit === other.hit && one.surplus === other.surplus && one.missed === other.missed

/** Gain of a rule: F1 with it less F1 without it. */
interface Gain {
  /** Pages on which the rule changes the score. */
  readonly pages: number
  readonly byKind: readonly number[]
  /** Mean over the kinds, so that the many articles do not outweigh the others. */
  readonly mean: number
  /** Standard error of the mean. */
  readonly error: number
}

export function gainOf(shipped: MatchesByKind, without: MatchesByKind): Gain {
  const kinds = Object.keys(shipped)
  const byKind = kinds.map((kind) => scoresOf(shipped[kind]!).f1 - scoresOf(without[kind]!).f1)
  const errors = kinds.map((kind) => errorOf(shipped[kind]!, without[kind]!))
  const changed = kinds.flatMap((kind) =>
    shipped[kind]!.filter((match, at) => !isSame(match, without[kind]![at]!)),
  )
  const error = Math.hypot(...errors) / kinds.length
  return { pages: changed.length, byKind, mean: mean(byKind), error }
}

/** Measures what each rule earns on pages of each kind, and the lines that it costs. */
export async function ablation(folder: string, checkpoints?: string): Promise<Report> {
  const names = Object.keys(RULES)
  const configurations = [[], ...names.map((name) => [name])]
  const [shipped, ...matches] = await measureAll(folder, configurations, checkpoints)
  const definitions = Definitions.ofFolder(EXTRACTOR)
  const rows = names
    .map((name, at) => ({ name, ...gainOf(shipped!, matches[at]!) }))
    .sort((one, other) => other.mean - one.mean)
    .map(({ name, pages, byKind, mean: gain, error }) => [
      name,
      definitions.linesOnlyFor(RULES[name]!),
      pages,
      gain.toFixed(5),
      error.toFixed(5),
      ...byKind.map(signed),
    ])
  const columns = ['left out', 'lines', 'pages', 'mean', '±', ...Object.keys(shipped!)]
  const tables = [{ title: 'F1 lost without each rule', columns, rows }]
  return { name: 'extraction', figures: {}, targets: [], tables }
}
