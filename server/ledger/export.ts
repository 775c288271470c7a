import { createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { exportCsv } from '../../core/ledger/export/csv.ts'
import { exportHledger } from '../../core/ledger/export/hledger.ts'
import { type Command, Misuse, optional } from './command.ts'

const EXPORTS = { csv: exportCsv, hledger: exportHledger } as const

export const exportCommand: Command = {
  usage: '--format csv|hledger [--out FILE]',
  about: 'write the whole journal, in exact decimals',
  options: { format: { type: 'string' }, out: { type: 'string' } },
  async run({ pool, write }, values) {
    const format = optional(values['format'])
    if (format !== 'csv' && format !== 'hledger') {
      throw new Misuse('export needs --format csv or hledger')
    }
    const chunks = EXPORTS[format](await pool())
    const out = optional(values['out'])
    if (out === undefined) for await (const chunk of chunks) await write(chunk)
    else await toFile(chunks, out)
    return 0
  },
}

/** The file appears when it is whole. */
async function toFile(chunks: AsyncIterable<string>, file: string): Promise<void> {
  const part = `${file}.part`
  await pipeline(Readable.from(chunks), createWriteStream(part))
  await rename(part, file)
}
