/** Tables that are distributed by `shard`, and the views over them. */
export const DISTRIBUTED: ReadonlySet<string> = new Set([
  'balance',
  'checkpoint',
  'chunk',
  'debt_change',
  'head',
  'journal',
  'open_hold',
  'period',
  'posting',
  'seal',
  'snapshot',
  'tile',
  'tree',
  'verified_balance',
])

/** Tables of the ledger that exist once: reference tables, and those of the coordinator. */
const SINGLE = [
  'account',
  'asset',
  'day_end',
  'idempotency',
  'identity',
  'kind',
  'signing_key',
  'verification',
]

/** One SQL statement and the names in it. */
export interface Statement {
  readonly text: string
  /** Tables and views of the ledger, without the schema. */
  readonly ledger: readonly string[]
  /** Tables and views of `hub`, without the schema. */
  readonly hub: readonly string[]
  /** Functions of the ledger that it calls, without the schema. */
  readonly calls: readonly string[]
}

/** Table, view or function of the schema. */
export interface SchemaObject {
  readonly kind: 'table' | 'view' | 'function'
  readonly name: string
  readonly text: string
  /** Text before the body of a function. */
  readonly head: string
  readonly statements: readonly Statement[]
}

const TABLES = [...DISTRIBUTED, ...SINGLE].join('|')
const QUALIFIED = new RegExp(`(?<!::)\\bledger\\.(${TABLES})\\b(?!\\s*\\()`, 'g')
/** Name without schema, as functions use it whose search path is the ledger. */
const UNQUALIFIED = new RegExp(
  `\\b(?:FROM|JOIN|INTO|UPDATE)\\s+(?:ONLY\\s+)?(${TABLES})\\b(?!\\s*[(.])`,
  'g',
)
const HUB = /\b(?:FROM|JOIN|INTO|UPDATE|USING|,)\s+(?:ONLY\s+)?hub\.(\w+)\b(?!\s*\()/g
const CALL = /\bledger\.(\w+)\s*\(/g
const BARE_CALL = /(?<![.\w])(\w+)\s*\(/g
const LEDGER_PATH = /SET search_path TO 'ledger'/

/** Removes comments, and quoted texts that contain no SQL. */
const bare = (sql: string): string =>
  sql
    .replaceAll(/--[^\n]*/g, '')
    .replaceAll(/'(?:[^']|'')*'/g, (quoted) =>
      /\b(?:FROM|JOIN|INTO|UPDATE)\s/.test(quoted) ? quoted.replaceAll(';', ' ') : "''",
    )

const allOf = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name]) => name!)

/** Splits SQL into its statements; `inLedger` if names without a schema are those of the ledger. */
export function statementsOf(sql: string, inLedger = false): readonly Statement[] {
  return bare(sql)
    .split(';')
    .map((text) => ({
      text,
      ledger: [...allOf(text, QUALIFIED), ...(inLedger ? allOf(text, UNQUALIFIED) : [])],
      hub: allOf(text, HUB),
      calls: [...allOf(text, CALL), ...(inLedger ? allOf(text, BARE_CALL) : [])],
    }))
}

/** Lists tables, views and functions of a dumped schema with the statements of their bodies. */
export function schemaObjects(schema: string): readonly SchemaObject[] {
  return schema.split(/\n\n(?=CREATE )/).flatMap((text): SchemaObject[] => {
    const [, word, name] =
      /^CREATE (?:OR REPLACE )?(TABLE|VIEW|MATERIALIZED VIEW|FUNCTION|PROCEDURE) ([\w.]+)/.exec(
        text,
      ) ?? []
    if (word === undefined || name === undefined) return []
    if (word === 'TABLE') return [{ kind: 'table', name, text, head: '', statements: [] }]
    const isView = word.endsWith('VIEW')
    const at = isView ? 0 : text.search(/^(?:AS \$|RETURN |BEGIN ATOMIC)/m)
    const head = text.slice(0, Math.max(at, 0))
    const body = text.slice(Math.max(at, 0)).split('\nGRANT ')[0]!
    const statements = statementsOf(isView ? body.replace(/^.*/, '') : body, LEDGER_PATH.test(head))
    return [{ kind: isView ? 'view' : 'function', name, text, head, statements }]
  })
}
