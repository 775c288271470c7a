import { type Document, isMap, isScalar, isSeq, type Node, parseDocument, stringify } from 'yaml'
import { apply, CannotEdit, type Edit, type Editor, isDeepEqual, lineEnding } from './edit.ts'

/** Adds an entry to the map under a top-level key. */
export const yamlEditor: Editor = {
  put(text, [section, name], value) {
    const document = read(text)
    const known = find(document, section!, name!)
    if (isDeepEqual(known, value)) return undefined
    if (known !== undefined) throw new CannotEdit(`it already has another ${name}`)
    const edit = editOf(text, document, section!, { [name!]: value })
    const after = apply(text, edit)
    const isThere = isDeepEqual(find(read(after), section!, name!), value)
    if (!isThere || !keeps(text, after, section!))
      throw new CannotEdit('its format does not allow it')
    return edit
  },
  take() {
    throw new CannotEdit('it has changed since')
  },
}

/** Writes a file of its own, with one entry in the list under a key. */
export const yamlFileEditor: Editor = {
  put(text, [section, name], value) {
    const content = { name, version: '0.0.1', schema: 'v1', [section!]: [value] }
    if (isDeepEqual(read(text).toJS(), content)) return undefined
    if (text.trim() !== '') throw new CannotEdit('it has other content')
    return { offset: 0, removed: text, inserted: stringify(content, { lineWidth: 0 }) }
  },
  take() {
    throw new CannotEdit('it has changed since')
  },
}

function read(text: string): Document {
  const document = parseDocument(text)
  if (document.errors.length > 0) throw new CannotEdit('it is not valid YAML')
  return document
}

function find(document: Document, section: string, name: string): unknown {
  const content = (document.toJS() ?? {}) as Record<string, unknown>
  const under = content[section]
  return (under as Record<string, unknown> | undefined | null)?.[name]
}

/** Checks that the other sections are unchanged. */
function keeps(before: string, after: string, section: string): boolean {
  const rest = (text: string) => {
    const { [section]: _, ...others } = (read(text).toJS() ?? {}) as Record<string, unknown>
    return others
  }
  return isDeepEqual(rest(before), rest(after))
}

function editOf(text: string, document: Document, section: string, block: unknown): Edit {
  const node = document.get(section, true) as Node | undefined
  if (node === undefined) {
    const gap = text === '' || text.endsWith('\n') ? '' : lineEnding(text)
    const inserted = gap + lines(text, { [section]: block }, '')
    return { offset: text.length, removed: '', inserted }
  }
  if (isScalar(node) && node.value === null) return after(text, node, block, '  ')
  if (!(isMap(node) || isSeq(node)) || node.flow) {
    throw new CannotEdit(`${section} is not a block of lines`)
  }
  const first = (isMap(node) ? node.items[0]?.key : node.items[0]) as Node | undefined
  const start = first?.range?.[0] ?? 0
  const line = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  return after(text, node, block, /^ */.exec(line)?.[0] ?? '')
}

/** Returns the offset after the line in which a node ends. */
function after(text: string, node: Node, block: unknown, indent: string): Edit {
  const end = node.range?.[1] ?? text.length
  const last = text.slice(0, end).trimEnd().length
  const line = text.indexOf('\n', last)
  const eol = lineEnding(text)
  if (line < 0)
    return { offset: text.length, removed: '', inserted: eol + lines(text, block, indent) }
  return { offset: line + 1, removed: '', inserted: lines(text, block, indent) }
}

const lines = (text: string, block: unknown, indent: string): string =>
  stringify(block, { lineWidth: 0 })
    .trimEnd()
    .split('\n')
    .map((line) => `${indent}${line}${lineEnding(text)}`)
    .join('')
