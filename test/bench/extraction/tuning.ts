import type { Report, Table } from '../report.ts'
import { type MatchesByKind, measureAll } from './measure.ts'
import { scoresOf } from './metric.ts'
import { FOLDS, type Page, readKinds } from './pages.ts'
import { targetsOf } from './targets.ts'
import { FILES, RULES, VARIANTS } from './variants.ts'

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

/** Scores of a configuration that was chosen without one fold, on the pages of that fold. */
interface Judged {
  readonly chosen: readonly string[]
  readonly matches: MatchesByKind
}

/** Name of the rule or threshold that a variant changes: two values of one exclude each other. */
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

/**
 * Measures what each file and rule earns on pages of each kind. With `tunes`, also cross-validates:
 * of all variants, those that gain on four folds are judged on the fifth, beside the peers.
 */
export async function tuning(folder: string, tunes: boolean): Promise<Report> {
  const changes = Object.keys(tunes ? VARIANTS : RULES)
  const files = Object.keys(FILES)
  const names = [...changes, ...files, ...(tunes ? PEERS : [])]
  const [shipped, ...matches] = await measureAll(folder, [[], ...names.map((name) => [name])])
  const measured = new Map(names.map((name, at) => [name, matches[at]!]))
  const among = (some: readonly string[]) =>
    new Map(some.map((name) => [name, measured.get(name)!]))
  const losses = [
    lossTable('F1 lost without each file', files, shipped!, measured),
    lossTable('F1 lost without each rule', Object.keys(RULES), shipped!, measured),
  ]
  if (!tunes) return { name: 'extraction', figures: {}, targets: [], tables: losses }
  const kinds = readKinds(folder)
  const folds = new Map<string, Judged>()
  for (const fold of FOLDS) {
    const together = async (chosen: readonly string[]) => (await measureAll(folder, [chosen]))[0]!
    folds.set(fold, await judge(kinds, fold, shipped!, among(changes), together))
  }
  const peers = among(PEERS)
  const { figures, tables } = foldTables(kinds, shipped!, folds, peers)
  const targets = compare(kinds, folds, peers)
  return { name: 'extraction', figures, targets, tables: [...losses, ...tables] }
}
