import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { request } from 'undici'
import { exportCheckpoints } from '../../../core/ledger/checkpoint.ts'
import { RetainedCheckpoints } from '../../../core/ledger/retained-checkpoints.ts'
import type { TrustAnchors } from '../../../core/ledger/verify/checkpoints.ts'
import { linesOf, verifyExport } from '../../../core/ledger/verify/export-verifier.ts'
import { verifySince } from '../../../core/ledger/verify/incremental.ts'
import { trustRetained } from '../../../core/ledger/verify/trust-retained.ts'
import { type Verification, verifyLedger } from '../../../core/ledger/verify.ts'
import {
  type Command,
  EXIT_FAILED,
  type OptionValues,
  optional,
  toJson,
  UsageError,
} from '../command.ts'

export const verifyCommand: Command = {
  usage: '[--since | --file EXPORT] [--checkpoints FILE|URL] [--key BASE64] [--json]',
  description: `verify the ledger: rebuild every balance from the journal, check holds, sequence,
seals, signed checkpoints and audit log; exit code 1 if anything is wrong
--since     only entries since the newest checkpoint
--file      a JSONL export, without a database
--checkpoints, --key  an auditor's own copies: checkpoints (a file, or a URL such as
            https://HUB/v1/ledger/checkpoints), and the hub's public key
The checkpoints in HUB_DATA_DIR are always compared, if there are any`,
  options: {
    since: { type: 'boolean' },
    file: { type: 'string' },
    checkpoints: { type: 'string' },
    key: { type: 'string', multiple: true },
    json: { type: 'boolean' },
  },
  async run({ pool, write, dataDir }, values) {
    const file = optional(values['file'])
    const given = await readTrustAnchors(values)
    const retained = dataDir === undefined ? undefined : new RetainedCheckpoints(dataDir)
    const trust =
      file === undefined && retained ? await trustRetained(await pool(), retained, given) : given
    const since = values['since'] === true
    if (file !== undefined && since) throw new UsageError('use either --since or --file')
    const result = await (file !== undefined
      ? verifyFile(file, trust)
      : since
        ? verifySince(await pool(), trust)
        : verifyLedger(await pool(), trust))
    await write(values['json'] === true ? toJson(result) : describeVerification(result))
    return result.ok ? 0 : EXIT_FAILED
  },
}

export const checkpointsCommand: Command = {
  usage: '> FILE',
  description: `write all signed checkpoints; stored elsewhere, they reveal any rewriting of the
ledger, even by the database administrator`,
  options: {},
  async run({ pool, write }) {
    for await (const note of exportCheckpoints(await pool())) await write(note)
    return 0
  },
}

async function readTrustAnchors(values: OptionValues): Promise<TrustAnchors> {
  const place = optional(values['checkpoints'])
  const keys = values['key']
  return {
    ...(place === undefined ? {} : { checkpoints: await readCheckpoints(place) }),
    ...(Array.isArray(keys) ? { keys: keys as string[] } : {}),
  }
}

async function verifyFile(file: string, trust: TrustAnchors): Promise<Verification> {
  const stream = createReadStream(file, 'utf8')
  try {
    await once(stream, 'open')
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`)
  }
  return verifyExport(linesOf(stream as AsyncIterable<string>), trust)
}

/** @throws UsageError if the file or URL cannot be read */
async function readCheckpoints(place: string): Promise<string> {
  try {
    if (!/^https?:\/\//.test(place)) return await readFile(place, 'utf8')
    const { statusCode, body } = await request(place)
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`status ${statusCode}`)
    return text
  } catch (error) {
    throw new UsageError(`cannot read ${place}: ${(error as Error).message}`)
  }
}

function describeVerification({ ok, checks, notes = [] }: Verification): string {
  const lines = checks.map(({ name, bad, example }) =>
    bad === 0n ? `ok   ${name}\n` : `BAD  ${name}: ${bad}, first ${example}\n`,
  )
  const said = notes.map((note) => `note ${note}\n`)
  const verdict = ok ? 'The ledger is sound.' : 'The ledger is NOT sound.'
  return `${lines.join('')}${said.join('')}${verdict}\n`
}
