import { hash } from 'node:crypto'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createGzip } from 'node:zlib'
import { seal, unseal } from '../crypto/sealing.ts'
import { ConfigError } from '../runtime/config-error.ts'

/** One object of a backup: a piece of a compressed archive, encrypted. */
export interface Part {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

export interface PartStore {
  put(path: string, bytes: Buffer): Promise<void>
  /** @throws Error if there is no such object */
  get(path: string): Promise<Buffer>
}

/** Compressed bytes of a part; a part is held in memory. */
const PART_BYTES = 16 * 1_048_576

const sha256 = (bytes: Buffer): string => hash('sha256', bytes, 'hex')

/**
 * Compresses and encrypts an archive, and stores it in parts.
 * @param path prefix of the parts, which is authenticated with their number
 * @returns the parts in their order, and the size of the archive
 */
export async function storeParts(
  archive: Readable,
  { store, key, path }: { readonly store: PartStore; readonly key: Buffer; readonly path: string },
): Promise<{ readonly parts: readonly Part[]; readonly bytes: number }> {
  const parts: Part[] = []
  let bytes = 0
  const count = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length
      done(null, chunk)
    },
  })
  await pipeline(archive, count, createGzip({ level: constants.Z_BEST_SPEED }), async (source) => {
    for await (const plain of inPieces(source as AsyncIterable<Buffer>)) {
      const name = `${path}.${String(parts.length).padStart(6, '0')}`
      const sealed = seal(key, name, plain)
      await store.put(name, sealed)
      parts.push({ path: name, bytes: sealed.length, sha256: sha256(sealed) })
    }
  })
  return { parts, bytes }
}

async function* inPieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    chunks.push(chunk)
    size += chunk.length
    if (size < PART_BYTES) continue
    yield Buffer.concat(chunks)
    chunks = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(chunks)
}

/**
 * Reads an archive from its parts into `consume`.
 * @throws ConfigError if a part is missing or was altered
 */
export async function readParts(
  parts: readonly Part[],
  { store, key }: { readonly store: PartStore; readonly key: Buffer },
  consume: (archive: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  const plain = async function* (): AsyncGenerator<Buffer> {
    for (const part of parts) yield unseal(key, part.path, await readPart(part, store))
  }
  await pipeline(Readable.from(plain()), createGunzip(), (source) =>
    consume(source as AsyncIterable<Buffer>),
  )
}

async function readPart({ path, bytes, sha256: expected }: Part, store: PartStore) {
  const sealed = await store.get(path).catch((cause: Error) => {
    throw new ConfigError(`The backup is incomplete: ${path} cannot be read (${cause.message}).`, {
      cause,
    })
  })
  if (sealed.length < bytes) {
    throw new ConfigError(
      `The backup is truncated: ${path} has ${sealed.length} of ${bytes} bytes.`,
    )
  }
  if (sha256(sealed) === expected) return sealed
  throw new ConfigError(`The backup was altered or is damaged: ${path} has another checksum.`)
}
