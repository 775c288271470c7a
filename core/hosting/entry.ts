/** Isolation levels of a plugin, each stricter than the one before. */
export const ISOLATIONS = ['inline', 'worker', 'process'] as const
export type Isolation = (typeof ISOLATIONS)[number]

/** Capability that can be injected into an isolated plugin, besides the log and the clock. */
export type Capability = 'http' | 'backends' | 'browser' | `secret:${string}` | `database:${string}`

/** Plugin added by the operator: an entry of `HUB_PLUGINS`. */
export interface PluginEntry {
  /** Package name or path. */
  readonly spec: string
  /** Undefined: as required by its package, else inline. */
  readonly isolation: Isolation | undefined
  readonly injected: readonly Capability[]
}

const NAME = '(?:@[a-z0-9][\\w.-]*/)?[a-z0-9][\\w.-]*'
const ENTRY_PATTERN = new RegExp(
  `^(${NAME}|(?:[./]|[\\w.-]+/)[^,=+]*)(?:=(${ISOLATIONS.join('|')}))?((?:\\+[^,+]+)*)$`,
)
const CAPABILITY =
  /^(?:http|backends|browser|secret:[A-Z][A-Z0-9_]{0,60}|database:[a-z0-9][a-z0-9-]{0,38}[a-z0-9])$/
const CAPABILITY_NAMES = 'http, backends, browser, secret:NAME, database:SLUG'

/**
 * Parses `SPEC[=ISOLATION][+CAPABILITY…]`, such as `acme-weather=process+http+secret:WEATHER_KEY`.
 * @throws Error for an invalid entry
 */
export function parseEntry(text: string): PluginEntry {
  const match = ENTRY_PATTERN.exec(text.trim())
  if (!match) throw new Error(`not NAME or PATH[=${ISOLATIONS.join('|')}][+CAPABILITY]: ${text}`)
  const [, spec = '', isolation, plus = ''] = match
  const injected = plus.split('+').filter((name) => name !== '')
  const invalid = injected.find((name) => !CAPABILITY.test(name))
  if (invalid !== undefined) {
    throw new Error(`${spec}: ${invalid} cannot be injected; possible are ${CAPABILITY_NAMES}`)
  }
  const [level, capabilities] = [isolation as Isolation | undefined, injected as Capability[]]
  return { spec, isolation: level, injected: capabilities }
}

/** Slug of the injected database, if any. */
export const injectedDatabaseOf = (injected: readonly string[]): string | undefined =>
  injected.find((name) => name.startsWith(DATABASE_PREFIX))?.slice(DATABASE_PREFIX.length)
const DATABASE_PREFIX = 'database:'

/** Returns true if a capability of this kind is injected. */
export const isInjected = (injected: readonly string[], capability: string): boolean =>
  capability === 'database'
    ? injectedDatabaseOf(injected) !== undefined
    : injected.includes(capability)

/** Formats an entry for `parseEntry`. */
export const writeEntry = ({ spec, isolation, injected }: PluginEntry): string =>
  [isolation === undefined ? spec : `${spec}=${isolation}`, ...injected].join('+')

/** Parses a comma-separated list; of entries with the same spec, the last one counts. */
export const parseEntries = (text: string): readonly PluginEntry[] => [
  ...new Map(
    text
      .split(',')
      .filter((part) => part.trim() !== '')
      .map(parseEntry)
      .map((entry) => [entry.spec, entry]),
  ).values(),
]

/** Returns true for a path: package names have no slash except after a scope. */
export const isPath = (spec: string): boolean => /^[./]|^[^@]*\//.test(spec)

/** Returns the stricter of two isolation levels. */
export const stricterIsolation = (a: Isolation, b: Isolation): Isolation =>
  ISOLATIONS.indexOf(a) > ISOLATIONS.indexOf(b) ? a : b
