import { createHmac } from 'node:crypto'
import type { Client } from 'pg'
import { ConfigError } from '../runtime/config-error.ts'
import { assertCitus, distributeLedger } from './citus/distribute.ts'
import { IS_DISTRIBUTED } from './citus/is-distributed.ts'
import { connectClient } from './client.ts'
import { type LoginPurpose, loginName } from './login-name.ts'
import { acquireMigrationLock, assertMigrated, migrate } from './migrate.ts'
import { assertHasRoles, managingRoles } from './roles.ts'
import { scramVerifier } from './scram.ts'

/** Connection strings of the hub's database, each with the rights of one purpose. */
export interface HubDatabase {
  /** Login of requests and jobs (roles `hub_app`, `hub_jobs`, plugins); may be a pooler's. */
  readonly url: string
  /** True if `url` is a transaction pooler. */
  readonly pooled: boolean
  /** The same login without a pooler. */
  readonly directUrl: string
  /** Login of the ledger and of finance (role `hub_finance`); only this one may post. Direct. */
  readonly financeUrl: string
  /** Login of the owner, for migrations; undefined: `npm run migrate` has to apply them. */
  readonly ownerUrl: string | undefined
}

/** Engine that distributes the ledger over several servers. */
export type Cluster = 'citus'

export interface LoginOptions {
  readonly url: string
  /** Direct connection if `url` is a pooler. */
  readonly directUrl?: string | undefined
  /** Login of the owner, if none of the others is. */
  readonly ownerUrl?: string | undefined
  /** Set if Citus distributes the ledger (`HUB_CLUSTER`). @defaultValue one PostgreSQL server */
  readonly cluster?: Cluster | undefined
  /** True to distribute it: `npm run migrate`. @defaultValue a cluster is ready, or refused */
  readonly distributes?: boolean
  /** True to refuse to serve with the login of the owner. @defaultValue false */
  readonly mustSeparate?: boolean
}

/** Roles that a login may take on, besides those of plugins. */
const ROLES: Readonly<Record<LoginPurpose, readonly string[]>> = {
  serving: ['hub_app', 'hub_jobs'],
  finance: ['hub_finance'],
}
/**
 * Returns the connection string of the serving login, whose password is derived from the owner's,
 * so that every machine of the hub has the same one.
 */
export const servingUrl = (ownerUrl: string): string => derivedUrl(ownerUrl, 'serving')

/** Returns the connection string of the login that may post, derived from the serving one. */
const financeUrl = (serving: string): string => derivedUrl(serving, 'finance')

function derivedUrl(from: string, purpose: LoginPurpose): string {
  const url = new URL(from)
  const name = loginName(databaseOf(url), purpose)
  const secret = decodeURIComponent(url.password)
  for (const each of ['user', 'password']) url.searchParams.delete(each)
  url.username = encodeURIComponent(name)
  url.password = createHmac('sha256', secret).update(`agenthub ${name}`).digest('base64url')
  return url.href
}

const databaseOf = ({ pathname, username }: URL): string =>
  decodeURIComponent(pathname.slice(1) || username)

/**
 * Prepares the logins of a hub. With the owner's login it migrates the database and creates them;
 * otherwise, and on a cluster, the database must have been prepared.
 * @throws ConfigError if migrations are missing, a login could become the owner, or the setting of
 *   a cluster and the database do not agree
 */
export async function openLogins(
  options: LoginOptions,
  log: (text: string) => void = () => {},
): Promise<HubDatabase> {
  const { url, directUrl, ownerUrl, mustSeparate = false } = options
  const direct = directUrl ?? url
  const found = await inspect(direct)
  const owner = ownerUrl ?? (found.owns ? direct : undefined)
  assertAgreement(options, found)
  const isReady = found.distributed && !options.distributes
  if (owner === undefined || isReady) await assertMigrated(direct)
  if (owner !== undefined) {
    if (!isReady) await prepare(owner, options, log)
    if (new URL(owner).password === '') {
      if (mustSeparate) throw new ConfigError(NO_PASSWORD)
      return shareLogin(url, direct, owner, log)
    }
    if (!isReady) await createLogins(owner)
  }
  const database = describeLogins({ url, directUrl, ownerUrl: owner }, found.owns)
  await Promise.all([
    assertLimited(database.directUrl, ROLES.serving),
    assertLimited(database.financeUrl, ROLES.finance),
    database.pooled && assertLimited(database.url, ['hub_app']),
  ])
  return database
}

/** @throws ConfigError if the setting of a cluster does not fit the database */
function assertAgreement({ cluster, distributes }: LoginOptions, { distributed }: Found): void {
  if (distributed && cluster === undefined) throw new ConfigError(SETTING_IS_MISSING)
  if (cluster !== undefined && !distributed && !distributes) throw new ConfigError(NOT_DISTRIBUTED)
}

const SETTING_IS_MISSING =
  'Citus distributes the ledger of this database: set HUB_CLUSTER=citus. Nothing was changed.'
const NOT_DISTRIBUTED =
  'The ledger is on one server. To distribute it, run "npm run migrate" with HUB_CLUSTER=citus ' +
  'and a superuser in DATABASE_OWNER_URL. Nothing was changed.'

/** Applies the migrations, and distributes the ledger of a cluster. */
async function prepare(
  owner: string,
  { cluster }: LoginOptions,
  log: (text: string) => void,
): Promise<void> {
  if (cluster !== undefined) await assertCitus(owner)
  await migrate(owner, { log })
  if (cluster !== undefined) await distributeLedger(owner, log)
}

/** Like `openLogins` for a prepared database, such as that of a running hub. */
export async function joinLogins(options: LoginOptions): Promise<HubDatabase> {
  const { url, directUrl = url, ownerUrl } = options
  const { owns } = await inspect(directUrl)
  const owner = ownerUrl ?? (owns ? directUrl : undefined)
  if (owner !== undefined && new URL(owner).password === '')
    return shareLogin(url, directUrl, owner, () => {})
  return describeLogins({ ...options, ownerUrl: owner }, owns)
}

function describeLogins({ url, directUrl, ownerUrl }: LoginOptions, isOwner: boolean): HubDatabase {
  const serving = isOwner ? servingUrl(ownerUrl!) : (directUrl ?? url)
  const pooled = directUrl !== undefined
  const finance = financeUrl(serving)
  return {
    url: pooled ? url : serving,
    pooled,
    directUrl: serving,
    financeUrl: finance,
    ownerUrl,
  }
}

const NO_PASSWORD =
  'The hub would serve as the owner of the database: put the password of its login into ' +
  'DATABASE_URL, so that the hub can create logins of its own.'

/** All purposes share the owner's login, because its password is not in the connection string. */
function shareLogin(
  url: string,
  direct: string,
  owner: string,
  log: (text: string) => void,
): HubDatabase {
  log('the hub serves with the login of the owner: put its password into DATABASE_URL')
  const pooled = url !== direct
  return { url, pooled, directUrl: owner, financeUrl: owner, ownerUrl: owner }
}

/** Creates the logins, or sets their passwords, and grants them their roles. */
async function createLogins(ownerUrl: string): Promise<void> {
  await withClient(ownerUrl, async (client) => {
    await acquireMigrationLock(client, 60_000)
    await managingRoles(client, () => createLoginRoles(client, ownerUrl))
  })
}

async function createLoginRoles(client: Client, ownerUrl: string): Promise<void> {
  const serving = servingUrl(ownerUrl)
  const urls = [
    ['serving', serving],
    ['finance', financeUrl(serving)],
  ] as const
  for (const [purpose, url] of urls) {
    const { username, password } = new URL(url)
    const name = client.escapeIdentifier(decodeURIComponent(username))
    const verifier = client.escapeLiteral(scramVerifier(password))
    await client.query(`
        DO $$ BEGIN
          CREATE ROLE ${name} LOGIN NOINHERIT;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END $$;
        ALTER ROLE ${name} LOGIN NOINHERIT PASSWORD ${verifier};
        GRANT ${ROLES[purpose].join(', ')} TO ${name}`)
  }
}

/** A database as a login finds it. */
interface Found {
  /** True if the login is, or can become, the owner of the hub's tables, or creates them. */
  readonly owns: boolean
  /** True if Citus distributes the ledger. */
  readonly distributed: boolean
}

const inspect = (url: string): Promise<Found> =>
  withClient(url, async (client) => {
    const { rows } = await client.query<Found>(`
      SELECT CASE WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE')
        ELSE pg_has_role(session_user, n.nspowner, 'MEMBER') END AS owns,
        ${IS_DISTRIBUTED} AS distributed
      FROM (SELECT to_regnamespace('ledger') AS oid) found LEFT JOIN pg_namespace n USING (oid)`)
    return rows[0]!
  })

/**
 * Roles that a serving login must not be able to take on: those that own the tables of the hub or
 * may read or write files, run programs, or create further roles.
 */
const POWERFUL_ROLES = `
  SELECT r.rolname AS role FROM pg_roles r
  WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND (
    r.rolsuper OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls
    OR r.rolname IN ('pg_write_all_data', 'pg_execute_server_program', 'pg_read_server_files',
      'pg_write_server_files', 'pg_create_subscription', 'pg_maintain')
    OR r.oid IN (SELECT datdba FROM pg_database WHERE datname = current_database()
      UNION ALL SELECT nspowner FROM pg_namespace WHERE nspname IN ('ledger', 'hub')
      UNION ALL SELECT c.relowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('ledger', 'hub')))
  ORDER BY r.rolname = session_user DESC, 1 LIMIT 1`

/**
 * @throws ConfigError if the login has, or can take on, a role that changes the ledger at will, or
 * may not act in one of `roles`
 */
export async function assertLimited(url: string, roles: readonly string[] = []): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query<{ role: string }>(POWERFUL_ROLES)
    const [found] = rows
    if (found === undefined) return assertHasRoles(client, roles)
    const login = decodeURIComponent(new URL(url).username)
    const name = client.escapeIdentifier(login)
    const remedy =
      found.role === login
        ? 'use another login for DATABASE_URL'
        : `run as the owner: REVOKE ${client.escapeIdentifier(found.role)} FROM ${name}`
    throw new ConfigError(
      `The database login ${login} can act as ${found.role} and change the ledger: ${remedy}.`,
    )
  })
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectClient(url, 'agenthub migrate')
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
