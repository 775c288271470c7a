import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { Pool } from 'pg'
import { copyLines } from '../ledger/export/copy-lines.ts'
import { assertDetached } from './call-partitions.ts'

/** Number of records and SHA-256 of their uncompressed text. */
export interface CallExport {
  readonly calls: number
  readonly sha256: string
}

/** All columns of a call as JSON; amounts are text, because JSON numbers lose digits above 2^53. */
const AS_JSON = `to_jsonb(c) || jsonb_build_object('charged', c.charged::text,
  'quantity', c.quantity::text, 'unit_amount', c.unit_amount::text, 'unit_per', c.unit_per::text)`

/** Reads the records of a detached partition as JSON lines, in the order of their ids. */
async function* readLines(pool: Pool, name: string, summary: Summary): AsyncGenerator<string> {
  await assertDetached(pool, name)
  for await (const lines of copyLines(pool, `SELECT ${AS_JSON} FROM hub.${name} c ORDER BY id`)) {
    // COPY doubles backslashes; JSON has no other character that it changes.
    const text = lines.map((line) => `${line.replaceAll('\\\\', '\\')}\n`).join('')
    summary.add(text, lines.length)
    yield text
  }
}

class Summary {
  readonly #hash = createHash('sha256')
  #calls = 0

  add(text: string | Buffer, calls: number): void {
    this.#hash.update(text)
    this.#calls += calls
  }

  end(): CallExport {
    return { calls: this.#calls, sha256: this.#hash.digest('hex') }
  }
}

/** Writes a detached partition to a new gzip file of JSON lines. @throws Error if it exists */
export async function exportCalls(pool: Pool, name: string, path: string): Promise<CallExport> {
  const summary = new Summary()
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  await once(file, 'open')
  try {
    await pipeline(Readable.from(readLines(pool, name, summary)), createGzip(), file)
  } catch (error) {
    await unlink(path) // some of the calls would be in the way of the next attempt
    throw error
  }
  const written = await open(path, 'r')
  await written.sync()
  await written.close()
  return summary.end()
}

/** Returns true if a file has exactly the records of a detached partition. */
export async function isExported(pool: Pool, name: string, path: string): Promise<boolean> {
  const stored = new Summary()
  for await (const _ of readLines(pool, name, stored));
  const inFile = createHash('sha256')
  for await (const chunk of createReadStream(path).pipe(createGunzip())) inFile.update(chunk)
  return inFile.digest('hex') === stored.end().sha256
}
