import { PassThrough, type Readable } from 'node:stream'
import { type ClientConfig, type Connection, Query, type QueryArrayResult } from 'pg'
import { ConfigError } from '../runtime/config-error.ts'
import { connectClient } from './client.ts'
import { isPrivilegeError } from './privilege-error.ts'

/** Positions in the write-ahead log between which a base backup was made. */
export interface BackupRange {
  readonly start: string
  readonly end: string
}

/**
 * Streams a base backup of the whole server, with the log that makes it consistent, as one tar
 * archive (BASE_BACKUP of PostgreSQL's replication protocol). The server keeps serving.
 * @param url direct connection of a login with the attribute REPLICATION
 * @throws ConfigError if the login may not, or the server has tablespaces
 */
export async function streamBaseBackup(
  url: string,
  label: string,
  consume: (tar: Readable) => Promise<void>,
): Promise<BackupRange> {
  const settings = { replication: 'database' } as ClientConfig // unknown to the types of pg
  const client = await connectClient(url, 'agenthub backup', settings).catch((cause: Error) => {
    throw describeRefusal(cause, url)
  })
  // The server must not recycle log before the backup contains it.
  const slot = `agenthub_${process.pid}`
  try {
    await client.query(`CREATE_REPLICATION_SLOT ${slot} TEMPORARY PHYSICAL RESERVE_WAL`)
    const text = `BASE_BACKUP (LABEL '${label}', CHECKPOINT 'fast', WAL true)`
    const query = new BaseBackupQuery(text)
    const consumed = consume(query.tar)
    client.query(query)
    const [range] = await Promise.all([query.range, consumed])
    return range
  } catch (cause) {
    throw describeRefusal(cause as Error, url)
  } finally {
    // Ends a backup that still streams; the server drops the slot with the session.
    ;(client as unknown as { connection: Connection }).connection.stream.destroy()
  }
}

/** @param cause an error of the server, or of the connection with its own cause */
function describeRefusal(cause: Error, url: string): Error {
  if (!isPrivilegeError(cause)) return cause
  const login = decodeURIComponent(new URL(url).username)
  const role = `"${login.replaceAll('"', '""')}"`
  return new ConfigError(
    `The database login ${login} may not make base backups (${cause.message}). Run as an ` +
      `administrator: ALTER ROLE ${role} REPLICATION`,
    { cause },
  )
}

const NEW_ARCHIVE = 'n'.charCodeAt(0)
const DATA = 'd'.charCodeAt(0)
const BASE = 'base.tar'

/** BASE_BACKUP as a pg query. Reads no further from the socket while its reader is behind. */
class BaseBackupQuery extends Query {
  readonly tar = new PassThrough()
  readonly range: Promise<BackupRange>

  constructor(text: string) {
    super(text)
    const results = new Promise<unknown>((resolve, reject) => {
      this.on('error', (error) => {
        this.tar.destroy(error)
        reject(error)
      })
      this.on('end', (found) => {
        this.tar.end()
        resolve(found)
      })
    })
    this.range = results.then((found) => rangeOf(found as readonly QueryArrayResult[]))
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }, connection: Connection): void {
    if (chunk[0] === NEW_ARCHIVE) this.#assertBase(chunk)
    if (chunk[0] !== DATA || this.tar.destroyed) return
    const isBehind = !this.tar.write(Buffer.from(chunk.subarray(1))) // pg reuses its buffer
    if (!isBehind || connection.stream.isPaused()) return
    connection.stream.pause()
    this.tar.once('drain', () => connection.stream.resume())
  }

  #assertBase(chunk: Buffer): void {
    const name = chunk.toString('utf8', 1, chunk.indexOf(0, 1))
    if (name === BASE || this.tar.destroyed) return
    this.tar.destroy(
      new ConfigError('The server has tablespaces, which this backup does not support.'),
    )
  }
}

/** Results: start position, tablespaces, end position; each position is the first column. */
function rangeOf(results: readonly QueryArrayResult[]): BackupRange {
  const positions = results.flatMap(({ rows }) => rows as unknown as { recptr?: string }[])
  const [start, end] = positions.flatMap(({ recptr }) => recptr ?? [])
  if (!start || !end) throw new Error('The server ended the base backup without its position.')
  return { start, end }
}
