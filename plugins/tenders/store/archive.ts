import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** Limits against decompression bombs. */
export interface ArchiveLimits {
  /** Bytes of all files, unpacked. */
  readonly unpacked: number
  readonly members: number
}

/** A file of an archive before its content is read. */
export interface Entry {
  readonly name: string
  readonly size: number
  readonly isFile: boolean
}

/**
 * Yields the wanted files of a tar archive as they arrive; nothing is written to disk.
 * @throws Error if it is truncated, no archive, or over the limits; files yielded before are valid
 */
export async function* archivedFiles(
  source: Readable,
  limits: ArchiveLimits,
  {
    wants,
    isZipped = true,
  }: { readonly wants: (entry: Entry) => boolean; readonly isZipped?: boolean },
): AsyncGenerator<{ readonly name: string; readonly content: Buffer }> {
  const { extract } = await import('tar-stream') // serving does not need it
  const members = extract()
  let failure: unknown
  const unzip = isZipped ? createGunzip() : new PassThrough()
  const feeding = pipeline(source, unzip, upTo(limits.unpacked), members).catch(
    (error: unknown) => {
      failure ??= error
      members.destroy()
    },
  )
  let count = 0
  try {
    for await (const entry of members) {
      if (++count > limits.members) throw new Error(`more than ${limits.members} members`)
      const { name, size, type } = entry.header
      if (!wants({ name, size, isFile: type === 'file' })) {
        entry.resume()
        continue
      }
      const pieces: Buffer[] = []
      for await (const piece of entry as AsyncIterable<Buffer>) pieces.push(piece)
      yield { name, content: Buffer.concat(pieces) }
    }
    await feeding
    if (failure) throw failure
  } catch (error) {
    throw failure ?? error
  } finally {
    members.destroy()
    source.destroy()
    await feeding
  }
}

/** Passes bytes through up to a limit. */
const upTo = (most: number) =>
  async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let size = 0
    for await (const piece of source) {
      size += piece.length
      if (size > most) throw new Error(`more than ${most} bytes when unpacked`)
      yield piece
    }
  }
