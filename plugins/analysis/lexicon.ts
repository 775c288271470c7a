import { readFileSync } from 'node:fs'

/** Words of a file in `data/`, separated by commas or line breaks; `#` starts a comment line. */
export const wordList = (file: string): string[] =>
  readFileSync(new URL(`./data/${file}`, import.meta.url), 'utf8')
    .replace(/^#.*$/gm, '')
    .split(/[,\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '')

/** Reads a word list as a set. */
export const readWordSet = (file: string): ReadonlySet<string> => new Set(wordList(file))

/** Parses lines `kind: name|name` into lists by kind. */
export const listsByKind = (lines: readonly string[]): ReadonlyMap<string, readonly string[]> =>
  new Map(
    lines.map((line) => {
      const at = line.indexOf(': ')
      return [line.slice(0, at), line.slice(at + 2).split('|')]
    }),
  )
