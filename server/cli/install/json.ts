import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
} from 'jsonc-parser'
import { CannotEdit, type Edit, type Editor, isDeepEqual, lineEnding } from './edit.ts'

/** Editor for JSON, with or without comments and trailing commas. */
export const jsonEditor: Editor = {
  put(text, path, value) {
    if (text.trim() === '') return create(text, path, value)
    const root = parse(text)
    const known = findNodeAtLocation(root, [...path])
    if (known && isDeepEqual(getNodeValue(known), value)) return undefined
    if (known) return replace(text, known, value)
    const depth = findDeepest(root, path)
    const parent = findNodeAtLocation(root, path.slice(0, depth))!
    if (parent.type !== 'object')
      throw new CannotEdit(`${path.slice(0, depth).join('.')} is not an object`)
    return insert(text, parent, path[depth]!, nested(path.slice(depth + 1), value))
  },
  take(text, path) {
    const node = findNodeAtLocation(parse(text), [...path])
    return node?.parent ? removeMember(text, node.parent) : undefined
  },
}

function parse(text: string): Node {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  if (!root || errors.length > 0) throw new CannotEdit('it is not valid JSON')
  return root
}

const nested = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)

/** Finds how many leading keys of the path exist. */
function findDeepest(root: Node, path: readonly string[]): number {
  let depth = 0
  while (depth < path.length && findNodeAtLocation(root, path.slice(0, depth + 1))) depth++
  return depth
}

const create = (text: string, path: readonly string[], value: unknown): Edit => ({
  offset: 0,
  removed: text,
  inserted: `${JSON.stringify(nested(path, value), null, 2)}\n`,
})

function replace(text: string, node: Node, value: unknown): Edit {
  const { offset, length } = node
  const removed = text.slice(offset, offset + length)
  const indent = indentAt(text, offset)
  return { offset, removed, inserted: print(text, value, indent, removed.includes('\n')) }
}

/** Inserts after the last member, in the object's style: on one line, or one line each. */
function insert(text: string, parent: Node, key: string, value: unknown): Edit {
  const members = parent.children ?? []
  const inner = text.slice(parent.offset + 1, parent.offset + parent.length - 1)
  const isOnLines = inner.includes('\n') || (members.length === 0 && isMultiline(text))
  const [eol, own] = [lineEnding(text), indentAt(text, parent.offset)]
  const last = members.at(-1)
  const indent = last && isOnLines ? indentAt(text, last.offset) : own + indentUnit(text)
  const colon = isOnLines || / /.test(inner) ? ': ' : ':'
  const member = JSON.stringify(key) + colon + print(text, value, indent, isOnLines)
  if (last) {
    const offset = last.offset + last.length
    const space = isOnLines ? eol + indent : /^\s|,\s/.test(inner) ? ' ' : ''
    return { offset, removed: '', inserted: `,${space}${member}` }
  }
  const offset = parent.offset + 1
  if (!isOnLines) return { offset, removed: '', inserted: member }
  // An empty object may contain a comment: the member goes first, on its own line.
  const closes = inner.includes('\n') ? '' : eol + own
  return { offset, removed: '', inserted: `${eol}${indent}${member}${closes}` }
}

/** Removes a member together with its comma. */
function removeMember(text: string, member: Node): Edit {
  const siblings = member.parent?.children ?? []
  const at = siblings.indexOf(member)
  const before = siblings[at - 1]
  const after = siblings[at + 1]
  const start = before ? before.offset + before.length : member.offset
  const end = !before && after ? after.offset : member.offset + member.length
  return { offset: start, removed: text.slice(start, end), inserted: '' }
}

const isMultiline = (text: string): boolean => text.trim().includes('\n') || !text.includes('"')

/** Returns the indentation of the line at an offset. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

/** Returns one step of indentation, taken from the first indented line. */
const indentUnit = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? '  '

function print(text: string, value: unknown, indent: string, isOnLines: boolean): string {
  if (!isOnLines) return JSON.stringify(value)
  return JSON.stringify(value, null, indentUnit(text)).replaceAll('\n', lineEnding(text) + indent)
}
