import type { Pool } from 'pg'
import { type PluginEntry, parseEntry } from '../../../core/hosting/entry.ts'
import { examinePlugin } from '../../../core/hosting/host-plugin.ts'
import { resolveSpec } from '../../../core/hosting/settings.ts'
import { createLog } from '../../../core/log.ts'
import { type Command, EXIT_FAILED, required, toJson, UsageError, type Write } from '../command.ts'
import { type Program, runProgram } from '../run-program.ts'
import { runConformance, runSandbox } from './conformance.ts'
import {
  findPluginEntry,
  listProcesses,
  type ProcessReport,
  requestReload,
  waitForGeneration,
} from './plugin-registry.ts'
import type { PluginsCommandDeps } from './trial.ts'

const JSON_OPTION = { json: { type: 'boolean' } } as const

/** Runs `npm run plugins`. @returns the exit code: 0; 1 if a plugin was refused; 2 for usage */
export const pluginsCommand = (
  surroundings: PluginsCommandDeps,
  args: readonly string[],
): Promise<number> => runProgram(programOf(surroundings), { ...surroundings, args })

const programOf = (deps: PluginsCommandDeps): Program => ({
  name: 'plugins',
  commands: {
    list: listCommand,
    add: {
      usage: 'SPEC[=ISOLATION][+CAPABILITY…] [--json]',
      description: 'put a plugin on sale, or change how it runs; see HUB_PLUGINS',
      options: JSON_OPTION,
      words: 1,
      run: async ({ pool, write }, { json }, [text]) =>
        applyEntry(deps, await pool(), parsePluginEntry(text), { write, json: json === true }),
    },
    reload: {
      usage: 'SPEC [--json]',
      description: 'load the installed version; calls in flight finish on the old one',
      options: JSON_OPTION,
      words: 1,
      run: async ({ pool, write }, { json }, [text]) => {
        const entry = await requireEntry(deps, await pool(), parsePluginEntry(text).spec)
        return applyEntry(deps, await pool(), entry, { write, json: json === true })
      },
    },
    test: {
      usage: 'SPEC[=ISOLATION][+CAPABILITY…] [--json]',
      description: 'run the conformance suite on it, in a sandbox of its own',
      options: JSON_OPTION,
      words: 1,
      run: (_, { json }, [text]) => runConformance(deps, parsePluginEntry(text), json === true),
    },
    sandbox: {
      usage: 'SPEC[=ISOLATION][+CAPABILITY…]',
      description: 'run it in a sandbox until standard input ends; prints its URL and key as JSON',
      options: {},
      words: 1,
      run: (_, __, [text]) => runSandbox(deps, parsePluginEntry(text)),
    },
    remove: {
      usage: 'SPEC [--json]',
      description: 'stop selling it',
      options: JSON_OPTION,
      words: 1,
      run: async ({ pool, write }, { json }, [text]) => {
        const entry = await requireEntry(deps, await pool(), parsePluginEntry(text).spec)
        const generation = await requestReload(await pool(), entry, true)
        const all = await waitForGeneration(await pool(), entry.spec, generation)
        return printReports(entry.spec, all, { write, json: json === true })
      },
    },
  },
  footer: 'A hub that is not running applies this at its next start.',
})

const listCommand: Command = {
  usage: '[--json]',
  description: 'show what each process runs, and why a plugin does not run',
  options: JSON_OPTION,
  async run({ pool, write }, { json }) {
    const all = await listProcesses(await pool())
    const lines = all.flatMap(({ process, plugins }) =>
      Object.entries(plugins).map(
        ([spec, report]) => `${spec}  ${describeReport({ process, report })}\n`,
      ),
    )
    await write(json === true ? toJson(all) : lines.join('') || 'No process runs a plugin.\n')
    return 0
  },
}

interface OutputFormat {
  readonly write: Write
  readonly json: boolean
}

/** Examines a plugin and, if it is accepted, requests that all processes load it. */
async function applyEntry(
  { config, host, tell }: PluginsCommandDeps,
  pool: Pool,
  entry: PluginEntry,
  telling: OutputFormat,
): Promise<number> {
  const injection = { host, databaseUrl: '', log: createLog('silent') }
  try {
    await examinePlugin(entry, injection, config.hosting)
  } catch (error) {
    await tell(`refused, nothing changed: ${(error as Error).message}\n`)
    return EXIT_FAILED
  }
  const generation = await requestReload(pool, entry)
  return printReports(entry.spec, await waitForGeneration(pool, entry.spec, generation), telling)
}

async function printReports(
  spec: string,
  all: readonly ProcessReport[],
  { write, json }: OutputFormat,
): Promise<number> {
  if (json) await write(toJson({ spec, processes: all }))
  else if (all.length === 0) await write('No hub is running; this takes effect when one starts.\n')
  else await write(all.map((each) => `${describeReport(each)}\n`).join(''))
  return all.some(({ report }) => report?.problem !== undefined) ? EXIT_FAILED : 0
}

function describeReport({ process, report }: ProcessReport): string {
  if (!report) return `${process}  has not checked yet`
  const { version, slug, isolation, problem } = report
  const runs = version === undefined ? 'does not run' : `${slug} ${version}, ${isolation}`
  return `${process}  ${runs}${problem === undefined ? '' : `; refused: ${problem}`}`
}

/** Parses an entry as in HUB_PLUGINS, with an absolute path. @throws UsageError */
function parsePluginEntry(text: string | undefined): PluginEntry {
  try {
    const entry = parseEntry(required(text, 'SPEC'))
    return { ...entry, spec: resolveSpec(entry.spec) }
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message)
  }
}

/** Returns the entry of a known plugin. @throws UsageError */
async function requireEntry(
  { config }: PluginsCommandDeps,
  pool: Pool,
  spec: string,
): Promise<PluginEntry> {
  const text = await findPluginEntry(pool, spec)
  const entry =
    text === undefined ? config.hosting.entries.find((e) => e.spec === spec) : parseEntry(text)
  if (!entry) throw new UsageError(`${spec} is not a plugin of this hub: add it first`)
  return entry
}
