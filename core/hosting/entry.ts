/** How far a plugin runs from the hub. Each is further away than the one before. */
export const ISOLATIONS = ['inline', 'worker', 'process'] as const
export type Isolation = (typeof ISOLATIONS)[number]

/** What a plugin that runs apart may be lent, beside the log and the clock. */
export type Lent = 'http' | 'backends' | 'browser' | `secret:${string}` | `database:${string}`

/** A plugin that the operator added, as `HUB_PLUGINS` names it. */
export interface Entry {
  /** A package, or a path. */
  readonly spec: string
  /** Undefined: as its package asks, else inline. */
  readonly isolation: Isolation | undefined
  readonly lent: readonly Lent[]
}

const NAME = '(?:@[a-z0-9][\\w.-]*/)?[a-z0-9][\\w.-]*'
const ENTRY = new RegExp(
  `^(${NAME}|(?:[./]|[\\w.-]+/)[^,=+]*)(?:=(${ISOLATIONS.join('|')}))?((?:\\+[^,+]+)*)$`,
)
const LENT =
  /^(?:http|backends|browser|secret:[A-Z][A-Z0-9_]{0,60}|database:[a-z0-9][a-z0-9-]{0,38}[a-z0-9])$/
const LENDABLE = 'http, backends, browser, secret:NAME, database:SLUG'

/**
 * Reads `SPEC[=ISOLATION][+LENT…]`, such as `acme-weather=process+http+secret:WEATHER_KEY`.
 * @throws Error that says what is wrong with it
 */
export function parseEntry(text: string): Entry {
  const match = ENTRY.exec(text.trim())
  if (!match) throw new Error(`not NAME or PATH, =${ISOLATIONS.join('|')}, +what is lent: ${text}`)
  const [, spec = '', isolation, plus = ''] = match
  const lent = plus.split('+').filter((name) => name !== '')
  const odd = lent.find((name) => !LENT.test(name))
  if (odd !== undefined) throw new Error(`${spec}: ${LENDABLE} can be lent, not ${odd}`)
  return { spec, isolation: isolation as Isolation | undefined, lent: lent as Lent[] }
}

/** Of which service it is lent the database; undefined: of none. */
export const databaseOf = (lent: readonly string[]): string | undefined =>
  lent.find((name) => name.startsWith(DATABASE))?.slice(DATABASE.length)
const DATABASE = 'database:'

/** Whether something of this kind may be used at all. */
export const isLent = (lent: readonly string[], what: string): boolean =>
  what === 'database' ? databaseOf(lent) !== undefined : lent.includes(what)

/** As `parseEntry` reads it. */
export const writeEntry = ({ spec, isolation, lent }: Entry): string =>
  [isolation === undefined ? spec : `${spec}=${isolation}`, ...lent].join('+')

/** The entries of a list with commas between them; of one that is there twice, the last. */
export const parseEntries = (text: string): readonly Entry[] => [
  ...new Map(
    text
      .split(',')
      .filter((part) => part.trim() !== '')
      .map(parseEntry)
      .map((entry) => [entry.spec, entry]),
  ).values(),
]

/** Whether it is a path: names have no slash but that of a scope. */
export const isPath = (spec: string): boolean => /^[./]|^[^@]*\//.test(spec)

/** Whichever is further away. */
export const further = (a: Isolation, b: Isolation): Isolation =>
  ISOLATIONS.indexOf(a) > ISOLATIONS.indexOf(b) ? a : b
