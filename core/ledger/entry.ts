/** A row of the journal: identifiers as text, instants as ISO 8601 UTC with microseconds. */
export interface JournalEntry {
  readonly id: string
  readonly owner: string
  readonly seq: bigint
  readonly at: string
  readonly amount: bigint
  readonly rest: bigint
  readonly fee: bigint
  readonly payee: string
  readonly expiresAt: string | null
  readonly endpoint: number
  readonly priceVersion: number
  readonly bps: number
  readonly asset: number
  readonly shard: number
  readonly kind: number
  readonly phase: number
  readonly guards: readonly string[] | null
  readonly accounts: readonly string[] | null
  readonly amounts: readonly bigint[] | null
  readonly effectiveAt: string | null
  /** As PostgreSQL prints it. */
  readonly meta: string | null
  /** Hexadecimal. */
  readonly leaf: string
}

/** One leg of an entry: the id of an account and the credit-positive change of its balance. */
export interface Leg {
  readonly account: string
  readonly amount: bigint
}

const COMMISSION = '1'
const ALLOWANCE_HOLDS = '40'
const ALLOWANCES_USED = '42'
/** Ids of the control accounts of holds, by asset id; `ledger.holds_account` in the database. */
const HOLDS: Readonly<Record<number, string>> = { 1: '2', 3: '30', 4: ALLOWANCE_HOLDS }

/** Returns the legs of an entry, in the order of `ledger.legs`; those of a call are computed. */
export function legsOf(entry: JournalEntry): readonly Leg[] {
  const { accounts, amounts } = entry
  if (accounts && amounts) {
    return accounts.map((account, i) => ({ account, amount: amounts[i]! }))
  }
  const { amount, rest, fee, guards } = entry
  const isReserve = entry.phase === 1
  const back = isReserve ? -amount : rest
  const used = isReserve ? 0n : amount
  const legs = [
    { account: entry.owner, amount: back },
    { account: HOLDS[entry.asset]!, amount: -back - used },
    { account: entry.payee, amount: used - (isReserve ? 0n : fee) },
    { account: COMMISSION, amount: isReserve ? 0n : fee },
  ]
  if (guards) {
    const count = BigInt(guards.length)
    for (const account of guards) legs.push({ account, amount: back })
    legs.push({ account: ALLOWANCE_HOLDS, amount: (-back - used) * count })
    legs.push({ account: ALLOWANCES_USED, amount: used * count })
  }
  return legs.filter((leg) => leg.amount !== 0n)
}

/** Value date: when it happened outside the hub, or else when it was posted. */
export const valueAt = (entry: JournalEntry): string => entry.effectiveAt ?? entry.at

/** Columns of the journal in the order that `parseEntry` reads. */
export const COLUMNS = `id, owner, seq, at, amount, rest, fee, payee, expires_at, endpoint,
  price_version, bps, asset, shard, kind, phase, guards, accounts, amounts, effective_at, meta,
  leaf`

const NULL = '\\N'

/** Parses a line of `COPY (SELECT COLUMNS …) TO STDOUT` from a session in UTC. */
export function parseEntry(line: string): JournalEntry {
  const c = line.split('\t')
  return {
    id: c[0]!,
    owner: c[1]!,
    seq: BigInt(c[2]!),
    at: isoInstant(c[3]!),
    amount: BigInt(c[4]!),
    rest: BigInt(c[5]!),
    fee: BigInt(c[6]!),
    payee: c[7]!,
    expiresAt: c[8] === NULL ? null : isoInstant(c[8]!),
    endpoint: Number(c[9]),
    priceVersion: Number(c[10]),
    bps: Number(c[11]),
    asset: Number(c[12]),
    shard: Number(c[13]),
    kind: Number(c[14]),
    phase: Number(c[15]),
    guards: c[16] === NULL ? null : parseList(c[16]!),
    accounts: c[17] === NULL ? null : parseList(c[17]!),
    amounts: c[18] === NULL ? null : parseList(c[18]!).map(BigInt),
    effectiveAt: c[19] === NULL ? null : isoInstant(c[19]!),
    meta: c[20] === NULL ? null : unescapeCopyText(c[20]!),
    leaf: c[21]!.slice(3), // without \\x
  }
}

/** Worthwhile because rows of a batch share their instants. */
const CACHED_INSTANTS_MAX = 16
const instantCache = new Map<string, string>()

/** Converts `2026-11-21 06:04:32.1234+00` to `2026-11-21T06:04:32.123400Z`. */
export function isoInstant(text: string): string {
  const known = instantCache.get(text)
  if (known !== undefined) return known
  if (instantCache.size === CACHED_INSTANTS_MAX) instantCache.clear()
  const iso = convertInstant(text)
  instantCache.set(text, iso)
  return iso
}

function convertInstant(text: string): string {
  const [seconds = '', fraction = ''] = text.slice(0, -3).split('.')
  return `${seconds.replace(' ', 'T')}.${fraction.padEnd(6, '0')}Z`
}

const parseList = (text: string): string[] => (text === '{}' ? [] : text.slice(1, -1).split(','))

const ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** Resolves the escapes of PostgreSQL's COPY text format; most texts have none. */
const unescapeCopyText = (text: string): string =>
  text.includes('\\')
    ? text.replaceAll(/\\(.)/g, (_, escaped: string) => ESCAPES[escaped] ?? escaped)
    : text
