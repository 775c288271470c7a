import { setImmediate } from 'node:timers/promises'
import type { Report, Table } from '../report.ts'
import { type MatchesByKind, measureAll } from './measure.ts'
import { scoresOf } from './metric.ts'
import type { Configuration } from './page-matches.ts'
import { FOLDS, type Page, readKinds } from './pages.ts'
import { targetsOf } from './targets.ts'
import { THRESHOLDS } from './variants.ts'

/** Minimum gain for a variant to be chosen: mean F1 over the kinds. */
const GAIN_MIN = 0.000_5

/** Extractors to compare with. */
const PEERS = ['readability', 'defuddle'] as const

type Folded = Pick<Page, 'fold'>
type PagesByKind = Readonly<Record<string, readonly Folded[]>>

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

/** Scores of a configuration that was chosen without one fold, on the pages of that fold. */
interface Judged {
  readonly chosen: readonly string[]
  readonly matches: MatchesByKind
}

/** Name of the threshold that a variant changes: two values of one exclude each other. */
const constantOf = (variant = ''): string | undefined => variant.split(' = ')[0]

/**
 * Chooses variants on four folds: all that gain, or the best one if they gain less together.
 * @returns matches of the fifth fold, which had no say
 */
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

function foldTables(
  kinds: PagesByKind,
  shipped: MatchesByKind,
  folds: Map<string, Judged>,
  peers: ReadonlyMap<string, MatchesByKind>,
) {
  const figures: Record<string, number> = {}
  const rows = Object.entries(kinds).map(([kind, pages]) => {
    const judged = [...folds.values()].map(({ matches }) => matches[kind]!)
    const crossValidated = scoresOf(judged.flat()).f1
    figures[`${kind}_f1_cross_validated`] = Number(crossValidated.toFixed(4))
    figures[`${kind}_f1`] = Number(scoresOf(shipped[kind]!).f1.toFixed(4))
    const others = Array.from(peers.values(), (matches) => matches[kind]!)
    const scores = [shipped[kind]!, judged.flat(), ...judged, ...others].map(scoresOf)
    return [kind, pages.length, ...scores.map(({ f1 }) => f1.toFixed(4))]
  })
  const columns = ['kind', 'pages', 'in use', 'cross-validated', ...folds.keys(), ...peers.keys()]
  const chosen = Array.from(folds, ([fold, judged]) => [fold, judged.chosen.join('; ') || 'none'])
  const tables: Table[] = [
    { title: 'F1 of configurations chosen on four folds, on the fifth', columns, rows },
    { title: 'Changes chosen', columns: ['judged on', 'changes'], rows: chosen },
  ]
  return { figures, tables }
}

/** Arranges the matches of each kind by fold, as those of the judged configurations are. */
const byFold = (kinds: PagesByKind, matches: MatchesByKind, kind: string) =>
  FOLDS.flatMap((fold) => select(kinds, matches, (page) => page.fold === fold)[kind]!)

/** Compares the configurations chosen without each page to the peers. */
const compare = (
  kinds: PagesByKind,
  folds: Map<string, Judged>,
  peers: ReadonlyMap<string, MatchesByKind>,
) =>
  Object.keys(kinds).flatMap((kind) => {
    const ours = [...folds.values()].flatMap(({ matches }) => matches[kind]!)
    const theirs = Array.from(peers, ([name, matches]) => [name, byFold(kinds, matches, kind)])
    return targetsOf(kind, ours, Object.fromEntries(theirs))
  })

/** Measures the configurations that are requested in one turn of the event loop together. */
function measureInBatch(
  measure: (configurations: readonly Configuration[]) => Promise<MatchesByKind[]>,
) {
  const requested: Configuration[] = []
  let run: Promise<MatchesByKind[]> | undefined
  return async (names: Configuration): Promise<MatchesByKind> => {
    const at = requested.push(names) - 1
    run ??= setImmediate().then(() => measure(requested))
    return (await run)[at]!
  }
}

/** Cross-validates: values that gain on four folds are judged on the fifth, beside the peers. */
export async function tuning(folder: string, checkpoints?: string): Promise<Report> {
  const measure = (configurations: readonly Configuration[]) =>
    measureAll(folder, configurations, checkpoints)
  const theirs = await measure(PEERS.map((name) => [name]))
  const peers = new Map(PEERS.map((name, at) => [name, theirs[at]!]))
  const names = Object.keys(THRESHOLDS)
  const [shipped, ...matches] = await measure([[], ...names.map((name) => [name])])
  const measured = new Map(names.map((name, at) => [name, matches[at]!]))
  const together = measureInBatch(measure)
  const kinds = readKinds(folder)
  const judged = FOLDS.map(
    async (fold) => [fold, await judge(kinds, fold, shipped!, measured, together)] as const,
  )
  const folds = new Map(await Promise.all(judged))
  const { figures, tables } = foldTables(kinds, shipped!, folds, peers)
  return { name: 'extraction', figures, targets: compare(kinds, folds, peers), tables }
}
