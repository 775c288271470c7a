import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClientBase } from 'pg'

interface SqlFunction {
  /** Name and types, `ledger.cut(timestamp with time zone,smallint,bigint)`. */
  readonly signature: string
  readonly name: string
  readonly definition: string
  readonly body: string
  /** True for SQL as a string; false for plpgsql. */
  readonly isSql: boolean
  readonly returns: 'set' | 'nothing' | 'value'
  /** True if it only reads, or is called by a trigger: it needs no rights of its caller. */
  readonly mayRunAsOwner: boolean
}

/** Tables and views that Citus manages, and functions over them. */
const LEDGER: ReadonlySet<string> = new Set([
  'account',
  'asset',
  'balance',
  'checkpoint',
  'chunk',
  'chunk_ids',
  'debt_change',
  'head',
  'journal',
  'kind',
  'movements',
  'open_hold',
  'period',
  'posting',
  'seal',
  'signing_key',
  'snapshot',
  'sum_up',
  'tile',
  'tree',
  'verified_at',
  'verified_balance',
])
const SOURCE = /\b(?:FROM|JOIN|LATERAL|INTO|UPDATE) (?:ledger\.)?(\w+)/g
const readsLedger = (body: string): boolean =>
  [...body.matchAll(SOURCE)].some(([, name]) => LEDGER.has(name!))

/** These run on the tables of one physical shard: see `createShardFunctions`. */
const ON_ONE_SHARD = /^(?:apply|refuse|explain)(?:_on_\d+|_source)?$/

/** End of a statement that locks a row: Citus lets its shard move before the next statement. */
const LOCKED_SHARD = /\bshard = (\w+) FOR UPDATE$/
/** Beginning of a statement of its own. */
const STATEMENT = /^ *(?:PERFORM|SELECT)\b/gm
const STAY = 'ledger.stay_on_node'

/** Keeps a shard where it is until the transaction ends, as statements that write to it do. */
const STAY_ON_NODE = `
  CREATE OR REPLACE FUNCTION ${STAY}(p_shard smallint) RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT lock_shard_metadata(5,
      ARRAY[get_shard_id_for_distribution_column('ledger.head', p_shard)]) $$;
  REVOKE EXECUTE ON FUNCTION ${STAY} FROM PUBLIC`

/**
 * Gives the functions of `ledger` and `hub` on the coordinator forms that Citus can plan: SQL
 * functions over its tables become plpgsql, generic plans are not forced, and functions that read
 * several shards are replaced by those in the files of this folder. Idempotent.
 */
export async function adaptFunctions(client: ClientBase): Promise<void> {
  await client.query(
    'SET LOCAL citus.enable_ddl_propagation = off; SET LOCAL check_function_bodies = off',
  )
  await client.query(STAY_ON_NODE)
  for (const file of ['functions.sql', 'verification.sql']) {
    await client.query(await readFile(join(import.meta.dirname, file), 'utf8'))
  }
  for (const each of await readFunctions(client)) {
    if (ON_ONE_SHARD.test(each.name)) continue
    const adapted = adapt(each)
    if (adapted !== each.definition) await client.query(adapted)
  }
  await client.query(
    'ALTER FUNCTION ledger.ensure_partitions(integer) SET citus.enable_unsafe_triggers = on',
  )
  await client.query('SET LOCAL citus.enable_ddl_propagation = on')
}

/** Lists functions that newer migrations have replaced since the ledger was distributed. */
export async function listUnadapted(client: ClientBase): Promise<readonly string[]> {
  const functions = await readFunctions(client)
  return functions
    .filter((each) => !ON_ONE_SHARD.test(each.name) && adapt(each) !== each.definition)
    .map(({ signature }) => signature)
}

async function readFunctions(client: ClientBase): Promise<readonly SqlFunction[]> {
  const { rows } = await client.query<SqlFunction>(
    `SELECT p.oid::regprocedure::text AS signature, p.proname AS name, p.prosrc AS body,
       pg_get_functiondef(p.oid) AS definition,
       l.lanname = 'sql' AND p.prosqlbody IS NULL AS "isSql",
       CASE WHEN p.proretset THEN 'set' WHEN p.prorettype = 'void'::regtype THEN 'nothing'
         ELSE 'value' END AS returns,
       CASE p.pronamespace WHEN 'ledger'::regnamespace THEN p.provolatile = 's'
         ELSE p.prorettype = 'trigger'::regtype END AS "mayRunAsOwner"
     FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
     WHERE p.pronamespace IN ('ledger'::regnamespace, 'hub'::regnamespace) AND p.prokind = 'f'
       AND (l.lanname = 'plpgsql' OR l.lanname = 'sql' AND p.prosqlbody IS NULL)
     ORDER BY 1`,
  )
  return rows
}

function adapt(each: SqlFunction): string {
  const { body, isSql, returns } = each
  if (!readsLedger(body)) return each.definition
  const found = stayingOnNode(asOwner(each))
    .replace("\n SET plan_cache_mode TO 'force_generic_plan'", '')
    .replaceAll('EXISTS (SELECT FROM', 'EXISTS (SELECT 1 FROM')
    .replaceAll('PERFORM FROM', 'PERFORM 1 FROM')
  if (!isSql) return found
  const at = found.indexOf('AS $function$')
  const head = found.slice(0, at).replace('\n LANGUAGE sql\n', '\n LANGUAGE plpgsql\n')
  const statement = found
    .slice(at + 'AS $function$'.length)
    .trimEnd()
    .slice(0, -'$function$'.length)
  return `${head}AS $function$
#variable_conflict use_column
BEGIN
${inPlpgsql(statement.trim(), returns)};
END $function$`
}

/** Adds a statement before each that locks a row of a shard. */
const stayingOnNode = (definition: string): string =>
  definition.includes(STAY) ? definition : definition.split(';').map(afterStaying).join(';')

/** @param text statement, perhaps with the beginning of the block or loop around it */
function afterStaying(text: string): string {
  const shard = LOCKED_SHARD.exec(text)?.[1]
  if (shard === undefined) return text
  const at = [...text.matchAll(STATEMENT)].at(-1)!.index
  return `${text.slice(0, at)}  PERFORM ${STAY}(${shard});\n${text.slice(at)}`
}

const SAFE_PATH = " SET search_path TO 'pg_catalog', 'pg_temp'\n"

/**
 * Runs a function as the owner of the ledger, who posts: Citus connects to the workers once for
 * each role, and a role cannot read a shard that another has written in the same transaction.
 */
function asOwner({ definition, mayRunAsOwner }: SqlFunction): string {
  const at = definition.indexOf('AS $function$')
  const head = definition.slice(0, at)
  if (!mayRunAsOwner || head.includes('SECURITY DEFINER')) return definition
  const path = head.includes('\n SET search_path TO ') ? '' : SAFE_PATH
  return `${head} SECURITY DEFINER\n${path}${definition.slice(at)}`
}

function inPlpgsql(statement: string, returns: SqlFunction['returns']): string {
  if (returns === 'set') return `RETURN QUERY ${statement}`
  return returns === 'nothing' ? statement : `RETURN (${statement})`
}
