import { type Pool, Query, type QueryConfig } from 'pg'

/** Value of a row: a Buffer becomes bytea, a Date timestamptz. */
export type Cell = string | number | bigint | Date | Buffer | null

/**
 * Appends rows to a table, all or none, by COPY, which takes less than half the time of INSERT.
 * @param into table and columns, as in `hub.call (id, at)`
 * @throws the errors of INSERT, including duplicate keys
 */
export async function copyInto(
  pool: Pool,
  into: string,
  rows: readonly (readonly Cell[])[],
): Promise<void> {
  const lines = rows.map((row) => row.map(encodeCell).join('\t'))
  const copy: QueryConfig = new Copy(`COPY ${into} FROM STDIN`, lines.join('\n'))
  await pool.query(copy)
}

/** Methods of pg's connection that its types omit. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** COPY as a pg query: pg enforces `query_timeout` on these, but not on pg-copy-streams. */
class Copy extends Query {
  declare readonly text: string
  readonly #rows: string

  constructor(text: string, rows: string) {
    super(text)
    this.#rows = rows
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(Buffer.from(this.#rows))
    connection.endCopyFrom()
  }
}

const SPECIAL_CHARACTER = /[\\\t\n\r]/
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
}
const escapeText = (text: string): string => text.replace(/[\\\t\n\r]/g, (sign) => ESCAPES[sign]!)

/** Encodes a value in the text format of COPY. */
function encodeCell(value: Cell): string {
  if (typeof value === 'string') return SPECIAL_CHARACTER.test(value) ? escapeText(value) : value
  if (value === null) return '\\N'
  if (typeof value !== 'object') return String(value)
  return value instanceof Date ? value.toISOString() : `\\\\x${value.toString('hex')}`
}
