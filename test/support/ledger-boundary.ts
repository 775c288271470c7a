import {
  DISTRIBUTED,
  type SchemaObject,
  type Statement,
  schemaObjects,
  statementsOf,
} from './ledger-statements.ts'
import { type Rule, stringsOf, type Tree } from './source-text.ts'

/** Couplings that exist today, one a line: `<count> <file or object>: <problem>`. */
const COUPLINGS = 'test/support/ledger-couplings.txt'

const SCHEMA = 'core/db/schema.sql'
const CODE = /^(?:core|jobs|plugins|server)\/.*\.ts$/
const SQL = /\b(?:SELECT|INSERT|UPDATE|DELETE|FROM|JOIN)\b/

/** Equality of `shard` with something other than another table's shard. */
const NAMES_SHARD =
  /\bshard\s*=(?!\s*(?:ANY\b|ALL\b|\w+\.shard\b))|INSERT INTO [\w.]+(?: AS \w+)? \([^)]*\bshard\b/i
const MODIFIES = /\b(?:INSERT INTO|UPDATE|DELETE FROM)\b/
const SQL_BODY = /^ LANGUAGE sql$/m

/** Forms that Citus refuses in statements over distributed tables. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'lists columns of a CTE': /(?:\bWITH(?: RECURSIVE)?|,)\s+\w+\s*\([^()]*\)\s+AS\s+(?:\w+\s+)?\(/,
  'passes a row by its alias': /\b(?:legs|leaf)\(\s*[a-z]\w*\s*\)/,
  'selects no column in EXISTS': /\bEXISTS\s*\(\s*SELECT\s+FROM\b/,
  'returns a query from RETURN': /\bRETURN\s+(?!QUERY\b)[^;]*\bSELECT\b/,
}

/** Lists the problems of one statement. */
function problemsOf(statement: Statement, readers: ReadonlySet<string>): string[] {
  const { text, ledger, hub, calls } = statement
  const problems: string[] = []
  if (ledger.length > 0 && hub.length > 0) problems.push('joins hub and ledger')
  if (!ledger.some((name) => DISTRIBUTED.has(name))) return problems
  const named = NAMES_SHARD.test(text)
  if (!named) problems.push('does not name its shard')
  if (!named && /\bFOR (?:NO KEY )?(?:UPDATE|SHARE)\b/.test(text)) {
    problems.push('locks rows of several shards')
  }
  for (const [problem, form] of Object.entries(REFUSED)) {
    if (form.test(text)) problems.push(problem)
  }
  if (MODIFIES.test(text) && /\bCASE\s+(?!WHEN\b)/.test(text)) {
    problems.push('uses a simple CASE in a modifying statement')
  }
  if (calls.some((name) => readers.has(name))) {
    problems.push('calls a function over ledger tables')
  }
  return problems
}

/** Lists the problems of a function or view as a whole. */
function wholeProblems({ kind, head, statements }: SchemaObject): string[] {
  if (kind !== 'function') return []
  const reads = statements.some(({ ledger }) => ledger.some((name) => DISTRIBUTED.has(name)))
  const problems: string[] = []
  if (reads && SQL_BODY.test(head)) problems.push('is LANGUAGE sql over ledger tables')
  if (reads && /plan_cache_mode TO '?force_generic_plan/.test(head)) {
    problems.push('forces generic plans')
  }
  return problems
}

/** Lists the problems of a table: foreign keys and unique keys. */
function tableProblems({ name, kind, text }: SchemaObject): string[] {
  if (kind !== 'table') return []
  const [schema, table] = name.split('.') as [string, string]
  return text.split('\n').flatMap((line) => {
    const target = /FOREIGN KEY .* REFERENCES (hub|ledger)\./.exec(line)?.[1]
    if (target !== undefined && target !== schema) return ['has a foreign key across the boundary']
    const key = /CONSTRAINT \w+ (?:PRIMARY KEY|UNIQUE) \(([^)]*)\)/.exec(line)?.[1]
    const split = schema === 'ledger' && DISTRIBUTED.has(table)
    const lacks = split && key !== undefined && !key.split(', ').includes('shard')
    return lacks ? ['has a key without shard'] : []
  })
}

/** Names the ledger functions that read or write distributed tables, also through others. */
function readersOf(objects: readonly SchemaObject[]): ReadonlySet<string> {
  const readers = new Set<string>()
  const functions = objects.filter(
    ({ kind, name }) => kind === 'function' && name.startsWith('ledger.'),
  )
  for (let before = -1; before < readers.size; ) {
    before = readers.size
    for (const { name, statements } of functions) {
      const reads = statements.some(
        ({ ledger, calls }) =>
          ledger.some((table) => DISTRIBUTED.has(table)) || calls.some((call) => readers.has(call)),
      )
      if (reads) readers.add(name.replace('ledger.', ''))
    }
  }
  return readers
}

/** Counts the couplings of the schema and of SQL in code, by `<file or object>: <problem>`. */
function couplingsOf(tree: Tree): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  const add = (where: string, problems: readonly string[]): void => {
    for (const problem of problems) {
      const key = `${where}: ${problem}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  const objects = schemaObjects(tree.get(SCHEMA) ?? '')
  const readers = readersOf(objects)
  for (const object of objects) {
    add(object.name, [...wholeProblems(object), ...tableProblems(object)])
    for (const statement of object.statements) add(object.name, problemsOf(statement, readers))
  }
  for (const [path, text] of tree) {
    if (!CODE.test(path)) continue
    for (const literal of stringsOf(text).filter((literal) => SQL.test(literal))) {
      for (const statement of statementsOf(literal)) add(path, problemsOf(statement, readers))
    }
  }
  return counts
}

function listedIn(tree: Tree): ReadonlyMap<string, number> {
  const lines = (tree.get(COUPLINGS) ?? '').split('\n').filter((line) => line !== '')
  return new Map(
    lines.map((line) => {
      const [, count, key] = /^(\d+) (.*)$/.exec(line) ?? []
      return [key ?? line, Number(count)]
    }),
  )
}

/**
 * Reports statements and constraints that keep the ledger from being distributed by shard (Citus),
 * except those that are listed. A listed one that no longer occurs is reported too, so that the
 * list only shrinks. SQL that is put together from several literals is checked in its parts.
 */
export const ledgerBoundary: Rule = (tree) => {
  const found = couplingsOf(tree)
  const listed = listedIn(tree)
  const added = [...found].flatMap(([key, count]) => {
    const known = listed.get(key) ?? 0
    return count > known ? [`${key} (${count}, listed ${known}): query the ledger by itself`] : []
  })
  const staleEntries = [...listed].flatMap(([key, known]) => {
    const count = found.get(key) ?? 0
    return count < known ? [`${key} (${count}, listed ${known}): lower it in ${COUPLINGS}`] : []
  })
  return [...added, ...staleEntries]
}
