import { parse, stringify, type TomlTable } from 'smol-toml'
import { CannotEdit, type Edit, type Editor, isDeepEqual, lineEnding } from './edit.ts'

const BEGIN = '# >>> agenthub >>>'
const END = '# <<< agenthub <<<'

/** Editor for TOML: adds a table at the end between markers, where a table is always allowed. */
export const tomlEditor: Editor = {
  put(text, path, value) {
    const before = read(text)
    const known = at(before, path)
    if (isDeepEqual(known, value)) return undefined
    if (known !== undefined) throw new CannotEdit(`it already has another ${path.join('.')}`)
    const eol = lineEnding(text)
    const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol
    const table = stringify(nested(path, value)).trimEnd().split('\n')
    const inserted = `${gap}${[BEGIN, ...table, END].join(eol)}${eol}`
    verify(text + inserted, before, path, value)
    return { offset: text.length, removed: '', inserted }
  },
  take(text, path) {
    if (at(read(text), path) === undefined) return undefined
    const found = new RegExp(`(?:\\r?\\n)?${BEGIN}[^]*?${END}(?:\\r?\\n)?`).exec(text)
    if (!found) throw new CannotEdit('the markers around it are missing')
    return { offset: found.index, removed: found[0], inserted: '' } satisfies Edit
  },
}

/** Checks that the new file has the old content plus the table of the hub. */
function verify(text: string, before: TomlTable, path: readonly string[], value: unknown): void {
  const after = read(text)
  const same = isDeepEqual(at(after, path), value)
  const parent = at(after, path.slice(0, -1)) as TomlTable
  delete parent[path.at(-1)!]
  const rest = at(before, path.slice(0, -1)) === undefined ? withoutKey(after, path[0]!) : after
  if (!same || !isDeepEqual(rest, before)) throw new CannotEdit('its tables do not allow it')
}

const withoutKey = (table: TomlTable, key: string): TomlTable =>
  Object.fromEntries(Object.entries(table).filter(([name]) => name !== key))

function read(text: string): TomlTable {
  try {
    return parse(text)
  } catch (cause) {
    throw new CannotEdit('it is not valid TOML', { cause })
  }
}

const at = (table: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as TomlTable | undefined)?.[key], table)

const nested = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
