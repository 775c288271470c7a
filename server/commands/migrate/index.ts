import { migratePlugins, migrationSources } from '../../../core/catalog/services/open-plugin.ts'
import { type Config, ConfigError } from '../../../core/config.ts'
import { openLogins, servingUrl } from '../../../core/db/logins.ts'
import {
  type MigrationPlan,
  type PlannedMigration,
  planMigrations,
} from '../../../core/db/migration-plan.ts'
import { isPrivilegeError } from '../../../core/db/privilege-error.ts'
import type { Plugin } from '../../../core/plugin/index.ts'
import { type Command, EXIT_FAILED, type Write } from '../command.ts'
import { type Program, runProgram } from '../run-program.ts'

interface MigrateDeps {
  readonly config: Pick<
    Config,
    'databaseUrl' | 'databaseDirectUrl' | 'databaseOwnerUrl' | 'cluster'
  >
  readonly plugins: readonly Plugin[]
  readonly write: Write
}

/** Runs `npm run migrate`; without arguments it applies. @returns the exit code */
export const migrateCommand = (deps: MigrateDeps, args: readonly string[]): Promise<number> =>
  runProgram(programOf(deps), {
    args: args.length === 0 ? ['apply'] : args,
    write: deps.write,
    connect: () => Promise.reject(new Error('migrate opens its own connections')),
  })

const programOf = (deps: MigrateDeps): Program => ({
  name: 'migrate',
  commands: {
    plan: {
      usage: '',
      description: `list the migrations that this version would apply, and whether servers of the
previous version may keep running meanwhile; changes nothing`,
      options: {},
      run: () => plan(deps),
    },
    apply: {
      usage: '',
      description: `apply them, create the logins that the hub serves with, and print the
DATABASE_URL of the serving one (default)`,
      options: {},
      run: () => apply(deps),
    },
    status: {
      usage: '',
      description: 'compare the database with this version; exit code 1 unless they match',
      options: {},
      run: () => status(deps),
    },
  } satisfies Record<string, Command>,
  footer: 'The login is that of DATABASE_OWNER_URL.',
})

function ownerOf({ config }: MigrateDeps): string {
  const { databaseUrl, databaseDirectUrl, databaseOwnerUrl } = config
  const url = databaseOwnerUrl ?? databaseDirectUrl ?? databaseUrl
  if (url) return url
  throw new ConfigError('Set DATABASE_OWNER_URL to the login that owns the database.')
}

/** Applies all migrations as the owner, and creates the logins that the hub serves with. */
async function apply(deps: MigrateDeps): Promise<number> {
  const { plugins, write, config } = deps
  const { cluster } = config
  const { ownerUrl } = await openLogins(
    { url: ownerOf(deps), cluster, distributes: true },
    (text) => void write(`${text}\n`),
  )
  if (!ownerUrl) throw new ConfigError(NOT_OWNER)
  await migratePlugins(plugins, ownerUrl)
  await write(`The database is ready. Start the hub with:\nDATABASE_URL=${servingUrl(ownerUrl)}\n`)
  return 0
}

const NOT_OWNER =
  'This login does not own the database: set DATABASE_OWNER_URL to the login of its owner.'

/** @throws ConfigError if the login may not read the list of migrations */
const readPlan = (deps: MigrateDeps) =>
  readPlanAs(ownerOf(deps), deps).catch((error: unknown) => {
    if (!isPrivilegeError(error)) throw error
    throw new ConfigError(NOT_OWNER, { cause: error })
  })

async function readPlanAs(url: string, deps: MigrateDeps) {
  const hub = await planMigrations(url)
  const pending = [...hub.pending]
  for (const source of migrationSources(deps.plugins)) {
    pending.push(...(await planMigrations(url, source)).pending)
  }
  return { ...hub, pending }
}

async function plan(deps: MigrateDeps): Promise<number> {
  const found = await readPlan(deps)
  await deps.write(`${[...found.pending.map(describe), adviceFor(found)].join('\n')}\n`)
  return 0
}

function adviceFor({ newest, pending }: MigrationPlan): string {
  if (pending.length === 0) return 'Nothing is pending.'
  if (newest === undefined) return 'The database is empty: no server uses it.'
  return pending.some(({ kind }) => kind === 'contract')
    ? 'Stop all servers of the previous version first. Back up, apply, start the new ones.'
    : 'Servers of the previous version may keep running. Back up, apply, replace them one by one.'
}

const describe = ({ name, schema, kind }: PlannedMigration): string =>
  `${kind.padEnd(9)} ${schema === undefined ? '' : `${schema}/`}${name}`

async function status(deps: MigrateDeps): Promise<number> {
  const { applied, newest, pending } = await readPlan(deps)
  await deps.write(
    `applied  ${applied}${newest === undefined ? '' : `, the newest ${newest}`}\n` +
      `pending  ${pending.length}\n`,
  )
  return pending.length === 0 ? 0 : EXIT_FAILED
}
