import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
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
  const { extract } = await import('tar-stream') // serving does not need it
  const members = extract()
  let failure: unknown
  const feeding = pipeline(source, createGunzip(), upTo(limits.unpacked), members).catch(
    (error: unknown) => {
      failure ??= error
      members.destroy()
    },
  )
  let count = 0
  try {
    for await (const entry of members) {
      if (++count > limits.members) throw bad(`more than ${limits.members} members`)
      const { name, size, type } = entry.header
      const [, at, , ordinal, year] = NAME.exec(name) ?? []
      const number = `${Number(ordinal)}-${year}`
      if (at !== undefined && at !== day.replaceAll('-', '')) throw bad(`it is of the day ${at}`)
      if (at === undefined || type !== 'file' || size > limits.document || !wants(number)) {
        entry.resume()
        continue
      }
      const pieces: Buffer[] = []
      for await (const piece of entry as AsyncIterable<Buffer>) pieces.push(piece)
      yield { number, xml: Buffer.concat(pieces) }
    }
    await feeding
    if (failure) throw failure
  } catch (error) {
    throw packageFailure(failure ?? error)
  } finally {
    members.destroy()
    source.destroy()
    await feeding
  }
}

/** Passes bytes through up to a limit, against decompression bombs. */
const upTo = (most: number) =>
  async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let size = 0
    for await (const piece of source) {
      size += piece.length
      if (size > most) throw bad(`more than ${most} bytes when unpacked`)
      yield piece
    }
  }

function packageFailure(error: unknown): unknown {
  if (error instanceof IngestFailure || !(error instanceof Error)) return error
  return bad(error.message)
}

const bad = (detail: string): IngestFailure => new IngestFailure('bad_package', detail)
