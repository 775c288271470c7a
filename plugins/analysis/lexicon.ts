import { readFileSync } from 'node:fs'

/**
 * The words of a file in `data/`: separated by commas or line ends, `#` starts a comment line.
 * Entries may have inner spaces.
 */
export const wordList = (file: string): string[] =>
  readFileSync(new URL(`./data/${file}`, import.meta.url), 'utf8')
    .replace(/^#.*$/gm, '')
    .split(/[,\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '')

/** As `wordList`, for membership. */
export const words = (file: string): ReadonlySet<string> => new Set(wordList(file))

/** The lines `kind: name|name` of a list, by kind. */
export const kindsOf = (lines: readonly string[]): ReadonlyMap<string, readonly string[]> =>
  new Map(
    lines.map((line) => {
      const at = line.indexOf(': ')
      return [line.slice(0, at), line.slice(at + 2).split('|')]
    }),
  )
