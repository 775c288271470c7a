import type { Pool } from 'pg'
import { withAudit } from '../../../core/audit/record.ts'
import { systemClock } from '../../../core/clock.ts'
import {
  attachCalls,
  type CallPartition,
  detachCalls,
  dropCalls,
  listCallPartitions,
  splitLaterCalls,
} from '../../../core/usage/call-partitions.ts'
import { exportCalls, isExported } from '../../../core/usage/export-calls.ts'
import { authorOf } from '../author.ts'
import {
  type Command,
  EXIT_FAILED,
  type OptionValues,
  optional,
  required,
  toJson,
  type Write,
} from '../command.ts'
import { type Program, runProgram } from '../run-program.ts'

const list: Command = {
  usage: '[--json]',
  description: 'partitions of the call records: months, sizes, and which are detached',
  options: { json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const found = await listCallPartitions(await pool())
    await write(values['json'] === true ? toJson(found) : found.map(describe).join(''))
    return 0
  },
}

const AUTHOR = { author: { type: 'string' }, reason: { type: 'string' } } as const

const detach: Command = {
  usage: 'NAME [--author WHO] [--reason WHY]',
  description: `detach a partition whose calls are older than 13 months, while the hubs serve;
its calls disappear from lists and receipts, and stay in a table of their own`,
  options: AUTHOR,
  words: 1,
  async run({ pool, write }, values, [word]) {
    const name = required(word, 'NAME')
    // Detaching cannot run in a transaction: its line is written first, so that none is missing.
    const record = async () =>
      withAudit(await pool(), authorOf(values), reasonOf(values), async (_, note) =>
        note({ act: 'calls.detach', subject: `hub.${name}` }),
      )
    await detachCalls(await pool(), name, systemClock.now(), record)
    await write(`${name} is detached. Export it before you drop it.\n`)
    return 0
  },
}

const exportCommand: Command = {
  usage: 'NAME --out FILE',
  description: 'write a detached partition to a gzip file of JSON lines, with its SHA-256',
  options: { out: { type: 'string' } },
  words: 1,
  async run({ pool, write }, values, [name]) {
    const path = required(values['out'], '--out FILE')
    const { calls, sha256 } = await exportCalls(await pool(), required(name, 'NAME'), path)
    await write(`${path}: ${calls} calls, SHA-256 of the text ${sha256}\n`)
    return 0
  },
}

const attach: Command = {
  usage: 'NAME',
  description: 'attach a detached partition again',
  options: {},
  words: 1,
  async run({ pool, write }, _values, [name]) {
    await attachCalls(await pool(), required(name, 'NAME'))
    await write(`${name} is attached.\n`)
    return 0
  },
}

const drop: Command = {
  usage: 'NAME --file FILE [--author WHO] [--reason WHY]',
  description: 'delete a detached partition, if FILE has exactly its calls; else exit code 1',
  options: { file: { type: 'string' }, ...AUTHOR },
  words: 1,
  async run({ pool, write }, values, [word]) {
    const name = required(word, 'NAME')
    const path = required(values['file'], '--file FILE')
    if (!(await isExported(await pool(), name, path))) {
      await write(`${path} does not have exactly the calls of ${name}. Nothing was deleted.\n`)
      return EXIT_FAILED
    }
    await withAudit(await pool(), authorOf(values), reasonOf(values), async (client, note) => {
      await dropCalls(client, name)
      note({ act: 'calls.drop', subject: `hub.${name}` })
    })
    await write(`${name} was deleted; its calls are in ${path}.\n`)
    return 0
  },
}

const split: Command = {
  usage: '',
  description: `begin a new call_later if it has too many records for the job make-partitions, while
the hubs serve; its months become one partition`,
  options: {},
  async run({ pool, write }) {
    await write(`call_later became ${await splitLaterCalls(await pool())}.\n`)
    return 0
  },
}

const reasonOf = (values: OptionValues): string => optional(values['reason']) ?? 'Old call records.'

const PROGRAM: Program = {
  name: 'calls',
  commands: { list, detach, export: exportCommand, attach, drop, split },
  footer: 'The login is that of the owner. The job make-partitions adds the coming months.',
}

/** Runs `npm run calls`. @param connect opens connections of the owner @returns the exit code */
export const callsCommand = (
  connect: () => Promise<Pool>,
  args: readonly string[],
  write: Write,
): Promise<number> => runProgram(PROGRAM, { connect, args, write })

const BYTES_PER_MB = 1_000_000n

function describe({ name, isAttached, isDetaching, until, bytes }: CallPartition): string {
  const end = until === null ? 'all later ones' : `before ${until.toISOString().slice(0, 10)}`
  const state = isAttached ? end : isDetaching ? 'detachment interrupted' : 'detached'
  return `${name.padEnd(12)}  ${state}, ${bytes / BYTES_PER_MB} MB\n`
}
