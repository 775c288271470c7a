import type { Readable } from 'node:stream'
import { archivedFiles, type Entry } from '../store/archive.ts'
import { IngestFailure } from './failure.ts'
import type { Limits } from './settings.ts'

export interface Member {
  readonly number: string
  readonly xml: Buffer
}

/** Matches `20260817_157/00566194_2026.xml`: day, issue, number, year. Other names are skipped. */
const NAME = /^(?:\.\/)?(\d{8})_0*(\d{1,3})\/(\d{8})_(\d{4})\.xml$/

/**
 * Yields the documents of a daily package (tar.gz) as they arrive. Nothing is written to disk, so
 * that no file name matters; sizes and counts are limited.
 * @param wants returns true for documents to read
 * @throws IngestFailure `bad_package`: truncated, not a package, another day's, or over the limits;
 * documents yielded before are valid
 */
export async function* membersOf(
  source: Readable,
  {
    day,
    wants,
    limits,
  }: {
    readonly day: string
    readonly wants: (number: string) => boolean
    readonly limits: Limits
  },
): AsyncGenerator<Member> {
  const isWanted = ({ name, size, isFile }: Entry): boolean => {
    const at = NAME.exec(name)?.[1]
    if (at !== undefined && at !== day.replaceAll('-', '')) {
      throw new Error(`it is of the day ${at}`)
    }
    return at !== undefined && isFile && size <= limits.document && wants(numberOf(name))
  }
  try {
    for await (const { name, content } of archivedFiles(source, limits, { wants: isWanted })) {
      yield { number: numberOf(name), xml: content }
    }
  } catch (error) {
    if (error instanceof IngestFailure || !(error instanceof Error)) throw error
    throw new IngestFailure('bad_package', error.message)
  }
}

const numberOf = (name: string): string => {
  const [, , , ordinal, year] = NAME.exec(name) ?? []
  return `${Number(ordinal)}-${year}`
}
