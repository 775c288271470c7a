import { isDeepStrictEqual } from 'node:util'

/** An edit of a text: `inserted` replaces `removed` at `offset`. */
export interface Edit {
  readonly offset: number
  readonly removed: string
  readonly inserted: string
}

/** The file cannot be edited without damaging it. */
export class CannotEdit extends Error {
  override readonly name = 'CannotEdit'
}

export interface Editor {
  /** Sets a value and preserves every other byte; undefined if already set. @throws CannotEdit */
  put(text: string, path: readonly string[], value: unknown): Edit | undefined
  /** Removes the value at a path from a file that others have changed. @throws CannotEdit */
  take(text: string, path: readonly string[]): Edit | undefined
}

/** Compares two values deeply, ignoring prototypes, in which parsers differ. */
export const isDeepEqual = (a: unknown, b: unknown): boolean =>
  isDeepStrictEqual(plain(a), plain(b))

const plain = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value))

export const apply = (text: string, { offset, removed, inserted }: Edit): string =>
  text.slice(0, offset) + inserted + text.slice(offset + removed.length)

/** Undoes an edit exactly, wherever it is now; undefined unless it occurs exactly once. */
export function undo(text: string, { removed, inserted }: Edit): string | undefined {
  const offset = text.indexOf(inserted)
  if (offset < 0 || text.indexOf(inserted, offset + 1) >= 0) return undefined
  return text.slice(0, offset) + removed + text.slice(offset + inserted.length)
}

/** Returns the line ending of a text, taken from its first line. */
export const lineEnding = (text: string): string =>
  /\r\n|\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n'

const CONTEXT = 2

/** Formats the difference of two texts in the style of `diff -u`. */
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
