import type { Report, Table } from '../report.ts'
import { extractorWith } from './extractor.ts'
import { type Match, matchOf, scoresOf } from './metric.ts'
import { FOLDS, type Page, readKinds } from './pages.ts'
import { RULES, VARIANTS } from './variants.ts'

/** Minimum gain for a variant to be chosen: mean F1 over the kinds. */
const GAIN_MIN = 0.000_5

type Folded = Pick<Page, 'fold'>
type PagesByKind = Readonly<Record<string, readonly Folded[]>>
export type MatchesByKind = Readonly<Record<string, readonly Match[]>>

async function measure(
  kinds: Readonly<Record<string, readonly Page[]>>,
  variants: readonly string[],
): Promise<MatchesByKind> {
  const extract = await extractorWith(variants)
  const textOf = ({ html, url }: Page): string => {
    try {
      return extract(html, url).text
    } catch {
      return ''
    }
  }
  const entries = Object.entries(kinds).map(([kind, pages]) => [
    kind,
    pages.map((page) => matchOf(page.truth, textOf(page))),
  ])
  return Object.fromEntries(entries) as MatchesByKind
}

/** Selects the matches of pages, by kind. */
const select = (
  kinds: PagesByKind,
  matches: MatchesByKind,
  wanted: (page: Folded) => boolean,
): MatchesByKind =>
  Object.fromEntries(
    Object.entries(kinds).map(([kind, pages]) => [
      kind,
      matches[kind]!.filter((_, at) => wanted(pages[at]!)),
    ]),
  )

/** Returns the mean F1 over the kinds, so that the many articles do not outweigh the others. */
function meanF1(matches: MatchesByKind): number {
  const scores = Object.values(matches).map((each) => scoresOf(each).f1)
  return scores.reduce((sum, f1) => sum + f1, 0) / scores.length
}

const signed = (value: number): string => (Math.abs(value) < 0.000_05 ? '–' : value.toFixed(4))

function lossTable(shipped: MatchesByKind, measured: ReadonlyMap<string, MatchesByKind>): Table {
  const kinds = Object.keys(shipped)
  const rows = Object.keys(RULES).map((rule) => [
    rule,
    ...kinds.map((kind) =>
      signed(scoresOf(shipped[kind]!).f1 - scoresOf(measured.get(rule)![kind]!).f1),
    ),
  ])
  return { title: 'F1 lost without each rule', columns: ['left out', ...kinds], rows }
}

/** Scores of a configuration that was chosen without one fold, on the pages of that fold. */
interface Judged {
  readonly chosen: readonly string[]
  readonly matches: MatchesByKind
}

/**
 * Chooses variants on four folds: all that gain, or the best one if they gain less together.
 * @returns matches of the fifth fold, which had no say
 */
/** Name of the rule or threshold that a variant changes: two values of one exclude each other. */
const constantOf = (variant = ''): string | undefined => variant.split(' = ')[0]

export async function judge(
  kinds: PagesByKind,
  fold: string,
  shipped: MatchesByKind,
  measured: ReadonlyMap<string, MatchesByKind>,
  measureTogether: (names: readonly string[]) => Promise<MatchesByKind>,
): Promise<Judged> {
  const isTuned = (page: Folded): boolean => page.fold !== fold
  const gainOf = (matches: MatchesByKind): number =>
    meanF1(select(kinds, matches, isTuned)) - meanF1(select(kinds, shipped, isTuned))
  const gaining = [...measured]
    .map(([name, matches]) => ({ names: [name], matches, gain: gainOf(matches) }))
    .filter(({ gain }) => gain > GAIN_MIN)
    .sort((one, other) => other.gain - one.gain)
    .filter(({ names: [name] }, at, all) => {
      const isSame = (one = '') => constantOf(one) === constantOf(name)
      return all.findIndex(({ names: [other] }) => isSame(other)) === at
    })
  const options = [{ names: [] as string[], matches: shipped, gain: 0 }, ...gaining.slice(0, 1)]
  if (gaining.length > 1) {
    const names = gaining.flatMap((each) => each.names)
    const matches = await measureTogether(names)
    options.push({ names, matches, gain: gainOf(matches) })
  }
  const best = options.reduce((most, each) => (each.gain > most.gain ? each : most))
  const matches = select(kinds, best.matches, (page) => page.fold === fold)
  return { chosen: best.names, matches }
}

function foldTables(kinds: PagesByKind, shipped: MatchesByKind, folds: Map<string, Judged>) {
  const figures: Record<string, number> = {}
  const rows = Object.entries(kinds).map(([kind, pages]) => {
    const judged = [...folds.values()].map(({ matches }) => matches[kind]!)
    const crossValidated = scoresOf(judged.flat()).f1
    figures[`${kind}_f1_cross_validated`] = Number(crossValidated.toFixed(4))
    figures[`${kind}_f1`] = Number(scoresOf(shipped[kind]!).f1.toFixed(4))
    const scores = [scoresOf(shipped[kind]!), scoresOf(judged.flat()), ...judged.map(scoresOf)]
    return [kind, pages.length, ...scores.map(({ f1 }) => f1.toFixed(4))]
  })
  const columns = ['kind', 'pages', 'in use', 'cross-validated', ...folds.keys()]
  const chosen = Array.from(folds, ([fold, judged]) => [fold, judged.chosen.join('; ') || 'none'])
  const tables: Table[] = [
    { title: 'F1 of configurations chosen on four folds, on the fifth', columns, rows },
    { title: 'Changes chosen', columns: ['judged on', 'changes'], rows: chosen },
  ]
  return { figures, tables }
}

/**
 * Measures what each rule earns on pages of each kind. With `tunes`, also cross-validates: of all
 * variants, those that gain on four folds are judged on the fifth.
 */
export async function tuning(folder: string, tunes: boolean): Promise<Report> {
  const kinds = readKinds(folder)
  const shipped = await measure(kinds, [])
  const measured = new Map<string, MatchesByKind>()
  for (const name of Object.keys(tunes ? VARIANTS : RULES)) {
    measured.set(name, await measure(kinds, [name]))
  }
  const losses = lossTable(shipped, measured)
  if (!tunes) return { name: 'extraction', figures: {}, targets: [], tables: [losses] }
  const folds = new Map<string, Judged>()
  for (const fold of FOLDS) {
    const together = (names: readonly string[]) => measure(kinds, names)
    folds.set(fold, await judge(kinds, fold, shipped, measured, together))
  }
  const { figures, tables } = foldTables(kinds, shipped, folds)
  return { name: 'extraction', figures, targets: [], tables: [losses, ...tables] }
}
