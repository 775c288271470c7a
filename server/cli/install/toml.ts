import { parse, stringify, type TomlTable } from 'smol-toml'
import { CannotEdit, type Edit, type Editor, eolOf, isSame } from './edit.ts'

const BEGIN = '# >>> agenthub >>>'
const END = '# <<< agenthub <<<'

/** TOML: a table of its own at the end, between marks, where it is always allowed. */
export const tomlEditor: Editor = {
  put(text, path, value) {
    const before = read(text)
    const known = at(before, path)
    if (isSame(known, value)) return undefined
    if (known !== undefined) throw new CannotEdit(`it has another ${path.join('.')} already`)
    const eol = eolOf(text)
    const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol
    const table = stringify(nested(path, value)).trimEnd().split('\n')
    const inserted = `${gap}${[BEGIN, ...table, END].join(eol)}${eol}`
    verify(text + inserted, before, path, value)
    return { offset: text.length, removed: '', inserted }
  },
  take(text, path) {
    if (at(read(text), path) === undefined) return undefined
    const found = new RegExp(`(?:\\r?\\n)?${BEGIN}[^]*?${END}(?:\\r?\\n)?`).exec(text)
    if (!found) throw new CannotEdit('the marks around it are gone')
    return { offset: found.index, removed: found[0], inserted: '' } satisfies Edit
  },
}

/** The new file must say what the old one said, and our table. */
function verify(text: string, before: TomlTable, path: readonly string[], value: unknown): void {
  const after = read(text)
  const same = isSame(at(after, path), value)
  const parent = at(after, path.slice(0, -1)) as TomlTable
  delete parent[path.at(-1)!]
  const rest = at(before, path.slice(0, -1)) === undefined ? without(after, path[0]!) : after
  if (!same || !isSame(rest, before)) throw new CannotEdit('its tables leave no room')
}

const without = (table: TomlTable, key: string): TomlTable =>
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
