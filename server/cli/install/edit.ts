import { isDeepStrictEqual } from 'node:util'

/** A change of a text: `inserted` stands at `offset` instead of `removed`. */
export interface Edit {
  readonly offset: number
  readonly removed: string
  readonly inserted: string
}

/** What was asked for cannot be written into this file without damage. */
export class CannotEdit extends Error {
  override readonly name = 'CannotEdit'
}

/** How a kind of file takes a member, and gives it back. */
export interface Editor {
  /**
   * Puts a value at a path of keys. Everything else stays, to the byte. Undefined: it is there.
   * @throws CannotEdit
   */
  put(text: string, path: readonly string[], value: unknown): Edit | undefined
  /** Takes out what is at a path, after the file has been changed by others. @throws CannotEdit */
  take(text: string, path: readonly string[]): Edit | undefined
}

/** Whether two values say the same; readers differ in the prototypes that they give. */
export const isSame = (a: unknown, b: unknown): boolean => isDeepStrictEqual(plain(a), plain(b))

const plain = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value))

export const apply = (text: string, { offset, removed, inserted }: Edit): string =>
  text.slice(0, offset) + inserted + text.slice(offset + removed.length)

/** Undoes an edit to the byte, wherever it stands now; undefined where it no longer does, once. */
export function undo(text: string, { removed, inserted }: Edit): string | undefined {
  const offset = text.indexOf(inserted)
  if (offset < 0 || text.indexOf(inserted, offset + 1) >= 0) return undefined
  return text.slice(0, offset) + removed + text.slice(offset + inserted.length)
}

/** The line ends of a text: those of its first line. */
export const eolOf = (text: string): string =>
  /\r\n|\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n'

const CONTEXT = 2

/** The lines that differ, with a few around them, as `diff -u` shows them. */
export function diff(path: string, before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')]
  const shorter = Math.min(old.length, now.length)
  let head = 0
  while (head < shorter && old[head] === now[head]) head++
  let tail = 0
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const lines = (mark: string, from: readonly string[], start: number, end: number) =>
    from.slice(Math.max(0, start), end).map((line) => `${mark}${line}`)
  return [
    `--- ${path}`,
    `+++ ${path}`,
    `@@ line ${head + 1} @@`,
    ...lines(' ', old, head - CONTEXT, head),
    ...lines('-', old, head, old.length - tail),
    ...lines('+', now, head, now.length - tail),
    ...lines(' ', old, old.length - tail, old.length - tail + CONTEXT),
  ].join('\n')
}
