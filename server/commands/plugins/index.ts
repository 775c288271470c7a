import type { Pool } from 'pg'
import type { Config } from '../../../core/config.ts'
import { type Entry, parseEntry } from '../../../core/hosting/entry.ts'
import { examine } from '../../../core/hosting/hosting.ts'
import { placeOf } from '../../../core/hosting/settings.ts'
import { createLog } from '../../../core/log.ts'
import type { Host } from '../../../core/plugin/index.ts'
import type { Parts } from '../../boot/start.ts'
import { type Command, FAILED, Misuse, needed, toJson, type Write } from '../ledger/command.ts'
import { type Program, runProgram } from '../run-program.ts'
import { announce, announced, type Standing, settled, standings } from './change.ts'
import { keepOpen, tryOut } from './try.ts'

export interface Surroundings {
  readonly config: Config
  /** The house, for a sandbox. */
  readonly parts: Parts
  /** What a plugin is lent while it is looked at. */
  readonly host: Host
  /** Gives connections of the owner: what runs code is written by nobody else. */
  readonly connect: () => Promise<Pool>
  readonly write: Write
  readonly tell: Write
}

const JSON_OPTION = { json: { type: 'boolean' } } as const

/**
 * The command line of the operator's plugins: what it changes, all processes of the hub do.
 * @param args what follows `npm run plugins --`
 * @returns the exit code: 0, 1 where a plugin was refused, 2 for a misuse
 */
export const pluginsCommand = (
  surroundings: Surroundings,
  args: readonly string[],
): Promise<number> => runProgram(programOf(surroundings), { ...surroundings, args })

const programOf = (around: Surroundings): Program => ({
  name: 'plugins',
  commands: {
    list: listCommand,
    add: {
      usage: 'SPEC[=ISOLATION][+LENT…] [--json]',
      about: 'sell a plugin, or run it in another way; see HUB_PLUGINS',
      options: JSON_OPTION,
      words: 1,
      run: async ({ pool, write }, { json }, [text]) =>
        change(around, await pool(), entryOf(text), { write, json: json === true }),
    },
    reload: {
      usage: 'SPEC [--json]',
      about: 'open the version that is installed now; calls under way end on the one before',
      options: JSON_OPTION,
      words: 1,
      run: async ({ pool, write }, { json }, [text]) => {
        const entry = await known(around, await pool(), entryOf(text).spec)
        return change(around, await pool(), entry, { write, json: json === true })
      },
    },
    test: {
      usage: 'SPEC[=ISOLATION][+LENT…] [--json]',
      about: 'try it in a sandbox of its own: does it what every plugin must?',
      options: JSON_OPTION,
      words: 1,
      run: (_, { json }, [text]) => tryOut(around, entryOf(text), json === true),
    },
    sandbox: {
      usage: 'SPEC[=ISOLATION][+LENT…]',
      about: 'sell it in a sandbox, told by a line of JSON, until standard input ends',
      options: {},
      words: 1,
      run: (_, __, [text]) => keepOpen(around, entryOf(text)),
    },
    remove: {
      usage: 'SPEC [--json]',
      about: 'sell it no more',
      options: JSON_OPTION,
      words: 1,
      run: async ({ pool, write }, { json }, [text]) => {
        const entry = await known(around, await pool(), entryOf(text).spec)
        const generation = await announce(await pool(), entry, true)
        const all = await settled(await pool(), entry.spec, generation)
        return tellAll(entry.spec, all, { write, json: json === true })
      },
    },
  },
  remark: 'A hub that does not run does it when it starts.',
})

const listCommand: Command = {
  usage: '[--json]',
  about: 'what each process runs, and why it would not run something',
  options: JSON_OPTION,
  async run({ pool, write }, { json }) {
    const all = await standings(await pool())
    const lines = all.flatMap(({ process, plugins }) =>
      Object.entries(plugins).map(([spec, report]) => `${spec}  ${lineOf({ process, report })}\n`),
    )
    await write(
      json === true ? toJson(all) : lines.join('') || 'No process runs a plugin of yours.\n',
    )
    return 0
  },
}

interface Telling {
  readonly write: Write
  readonly json: boolean
}

/** Looks at it first: what is refused here is refused everywhere, and nothing changes. */
async function change(
  { config, host, tell }: Surroundings,
  pool: Pool,
  entry: Entry,
  telling: Telling,
): Promise<number> {
  const lending = { host, databaseUrl: '', log: createLog('silent') }
  try {
    await examine(entry, lending, config.hosting)
  } catch (error) {
    await tell(`refused, nothing has changed: ${(error as Error).message}\n`)
    return FAILED
  }
  const generation = await announce(pool, entry)
  return tellAll(entry.spec, await settled(pool, entry.spec, generation), telling)
}

async function tellAll(
  spec: string,
  all: readonly Standing[],
  { write, json }: Telling,
): Promise<number> {
  if (json) await write(toJson({ spec, processes: all }))
  else if (all.length === 0) await write('No hub runs: it is done when one starts.\n')
  else await write(all.map((each) => `${lineOf(each)}\n`).join(''))
  return all.some(({ report }) => report?.problem !== undefined) ? FAILED : 0
}

function lineOf({ process, report }: Standing): string {
  if (!report) return `${process}  has not looked yet`
  const { version, slug, isolation, problem } = report
  const runs = version === undefined ? 'does not run' : `${slug} ${version}, ${isolation}`
  return `${process}  ${runs}${problem === undefined ? '' : `; refused: ${problem}`}`
}

/** As HUB_PLUGINS has it; a path is the same for processes that began elsewhere. @throws Misuse */
function entryOf(text: string | undefined): Entry {
  try {
    const entry = parseEntry(needed(text, 'SPEC'))
    return { ...entry, spec: placeOf(entry.spec) }
  } catch (error) {
    throw error instanceof Misuse ? error : new Misuse((error as Error).message)
  }
}

/** @throws Misuse where there is no such plugin */
async function known({ config }: Surroundings, pool: Pool, spec: string): Promise<Entry> {
  const text = await announced(pool, spec)
  const entry =
    text === undefined ? config.hosting.entries.find((e) => e.spec === spec) : parseEntry(text)
  if (!entry) throw new Misuse(`${spec} is no plugin of this hub: add it`)
  return entry
}
