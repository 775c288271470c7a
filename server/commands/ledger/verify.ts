import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { exportCheckpoints } from '../../../core/ledger/checkpoint.ts'
import type { Trust } from '../../../core/ledger/verify/checkpoints.ts'
import { linesOf, verifyExport } from '../../../core/ledger/verify/offline.ts'
import { verifySince } from '../../../core/ledger/verify/since.ts'
import { type Verification, verifyLedger } from '../../../core/ledger/verify.ts'
import { type Command, FAILED, Misuse, optional, toJson, type Values } from './command.ts'

export const verifyCommand: Command = {
  usage: '[--since | --file EXPORT] [--checkpoints FILE] [--key BASE64] [--json]',
  about: `prove the books: rebuild every balance from the journal, check the holds, the
sequence, the chain of seals and the signed checkpoints; exit code 1 when anything is wrong
--since     only what was booked since the newest checkpoint
--file      an export as JSONL, without any database
--checkpoints, --key  what an auditor kept outside: checkpoints, and the hub's public key`,
  options: {
    since: { type: 'boolean' },
    file: { type: 'string' },
    checkpoints: { type: 'string' },
    key: { type: 'string', multiple: true },
    json: { type: 'boolean' },
  },
  async run({ pool, write }, values) {
    const trust = await trustOf(values)
    const file = optional(values['file'])
    const since = values['since'] === true
    if (file !== undefined && since) throw new Misuse('--since or --file')
    const result = await (file !== undefined
      ? verifyFile(file, trust)
      : since
        ? verifySince(await pool(), trust)
        : verifyLedger(await pool(), trust))
    await write(values['json'] === true ? toJson(result) : told(result))
    return result.ok ? 0 : FAILED
  },
}

export const checkpointsCommand: Command = {
  usage: '> FILE',
  about: `write all signed checkpoints: keep them outside, and nobody can rewrite the books
unnoticed, not even who runs the database`,
  options: {},
  async run({ pool, write }) {
    for await (const note of exportCheckpoints(await pool())) await write(note)
    return 0
  },
}

async function trustOf(values: Values): Promise<Trust> {
  const file = optional(values['checkpoints'])
  const keys = values['key']
  return {
    ...(file === undefined ? {} : { checkpoints: await readText(file) }),
    ...(Array.isArray(keys) ? { keys: keys as string[] } : {}),
  }
}

async function verifyFile(file: string, trust: Trust): Promise<Verification> {
  const stream = createReadStream(file, 'utf8')
  try {
    await once(stream, 'open')
  } catch (error) {
    throw new Misuse(`cannot read ${file}: ${(error as Error).message}`)
  }
  return verifyExport(linesOf(stream as AsyncIterable<string>), trust)
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new Misuse(`cannot read ${file}: ${(error as Error).message}`)
  }
}

function told({ ok, checks, notes = [] }: Verification): string {
  const lines = checks.map(({ name, bad, example }) =>
    bad === 0n ? `ok   ${name}\n` : `BAD  ${name}: ${bad}, first ${example}\n`,
  )
  const said = notes.map((note) => `note ${note}\n`)
  const verdict = ok ? 'The books are sound.' : 'The books are NOT sound.'
  return `${lines.join('')}${said.join('')}${verdict}\n`
}
