import type { ClientBase } from 'pg'
import { runOnNodes } from './share-roles.ts'

/** Functions that post a batch, as migrations define them. */
interface Source {
  readonly apply: string
  readonly refuse: string
  readonly explain: string
}

interface Signature {
  /** Arguments with their names, also those of the result. */
  readonly args: string
  readonly types: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
}

/** Ids of the physical tables of one shard. */
type PhysicalShard = Readonly<Record<'head' | 'seal' | 'balance' | 'journal', string>>

const SHARDS_PER_COMMAND = 16

/** Keeps the function of the migrations, because that of its name becomes a dispatcher. */
const KEPT = 'apply_source'
/** Called by the dispatcher, and so the mark of one. */
const ON_SHARD = 'apply_on_'

/**
 * Makes `ledger.apply` run on the node of its shard, on the physical tables: planned by Citus a
 * batch of one costs five times as much. Every node gets the functions of all physical shards,
 * because shards move between nodes and keep their ids. Idempotent.
 */
export async function createShardFunctions(client: ClientBase): Promise<void> {
  const source = await keepSource(client)
  const shards = await readPhysicalShards(client)
  for (let at = 0; at < shards.length; at += SHARDS_PER_COMMAND) {
    const some = shards.slice(at, at + SHARDS_PER_COMMAND)
    await runOnNodes(client, some.map((shard) => onPhysicalShard(source, shard)).join(';\n'))
  }
  const signature = await readSignature(client)
  await client.query(dispatcher(signature))
  await client.query(
    `SELECT create_distributed_function($1, 'p_shard', colocate_with := 'ledger.head')
     WHERE NOT EXISTS (SELECT 1 FROM pg_dist_object
       WHERE classid = 'pg_proc'::regclass AND objid = $1::regprocedure
         AND distribution_argument_index IS NOT NULL)`,
    [`ledger.apply(${signature.types})`],
  )
  const { rows } = await client.query<{ definition: string }>(
    'SELECT pg_get_functiondef(u.name::regproc) AS definition FROM unnest($1::text[]) u(name)',
    [HELPERS],
  )
  await runOnNodes(client, rows.map(({ definition }) => definition).join(';\n'))
}

/** Functions without tables that queries of a shard call where it is. */
const HELPERS = [
  'ledger.holds_account',
  'ledger.guards_of',
  'ledger.first_id',
  'ledger.account_group',
  'ledger.leaf',
  'ledger.legs',
]

/** Copies `ledger.apply`, unless it is the dispatcher already. @returns what to specialize */
async function keepSource(client: ClientBase): Promise<Source> {
  const define = async (name: string): Promise<string> => {
    const { rows } = await client.query<{ definition: string }>(
      'SELECT pg_get_functiondef($1::regproc) AS definition',
      [`ledger.${name}`],
    )
    return rows[0]!.definition
  }
  const current = await define('apply')
  if (!current.includes(ON_SHARD)) {
    await client.query(
      `SET citus.enable_ddl_propagation = off;
       ${current.replace('FUNCTION ledger.apply(', `FUNCTION ledger.${KEPT}(`)};
       REVOKE EXECUTE ON FUNCTION ledger.${KEPT} FROM PUBLIC;
       RESET citus.enable_ddl_propagation`,
    )
  }
  return {
    apply: await define(KEPT),
    refuse: await define('refuse'),
    explain: await define('explain'),
  }
}

async function readPhysicalShards(client: ClientBase): Promise<readonly PhysicalShard[]> {
  const { rows } = await client.query<PhysicalShard>(
    `SELECT h.shardid::text AS head, s.shardid::text AS seal, b.shardid::text AS balance,
       j.shardid::text AS journal
     FROM pg_dist_shard h
     JOIN pg_dist_shard s USING (shardminvalue) JOIN pg_dist_shard b USING (shardminvalue)
     JOIN pg_dist_shard j USING (shardminvalue)
     WHERE h.logicalrelid = 'ledger.head'::regclass AND s.logicalrelid = 'ledger.seal'::regclass
       AND b.logicalrelid = 'ledger.balance'::regclass
       AND j.logicalrelid = 'ledger.journal'::regclass ORDER BY 1`,
  )
  return rows
}

/** SQL that defines the functions of a physical shard, named after its head. */
function onPhysicalShard(source: Source, shard: PhysicalShard): string {
  const place = (definition: string): string =>
    definition
      .replaceAll(
        /\b(FROM|JOIN|INTO|UPDATE) (head|seal|balance|journal)\b/g,
        (_, verb: string, table: keyof PhysicalShard) => `${verb} ledger.${table}_${shard[table]}`,
      )
      .replace(`FUNCTION ledger.${KEPT}(`, `FUNCTION ledger.${ON_SHARD}${shard.head}(`)
      .replaceAll(/\b(refuse|explain)\(/g, `$1_on_${shard.head}(`)
  return `SET LOCAL check_function_bodies = off;
    ${[source.refuse, source.explain, source.apply].map(place).join(';\n')};
    REVOKE EXECUTE ON FUNCTION ledger.${ON_SHARD}${shard.head} FROM PUBLIC`
}

async function readSignature(client: ClientBase): Promise<Signature> {
  const { rows } = await client.query<Signature>(
    `SELECT pg_get_function_arguments(p.oid) AS args,
       array_to_string(p.proargtypes::regtype[], ', ') AS types,
       array(SELECT quote_ident(a.name) FROM unnest(p.proargnames, p.proargmodes)
         WITH ORDINALITY a(name, mode, n) WHERE a.mode = 'i' ORDER BY a.n) AS inputs,
       array(SELECT quote_ident(a.name) FROM unnest(p.proargnames, p.proargmodes)
         WITH ORDINALITY a(name, mode, n) WHERE a.mode = 'o' ORDER BY a.n) AS outputs
     FROM pg_proc p WHERE p.oid = 'ledger.${KEPT}'::regproc`,
  )
  return rows[0]!
}

/** A move of the shard waits for the batch as for statements that Citus plans (ShareLock, 5). */
const dispatcher = ({ args, inputs, outputs }: Signature): string => `
  CREATE OR REPLACE FUNCTION ledger.apply(${args}) LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = ledger, pg_temp AS $$
  DECLARE
    place bigint := pg_catalog.get_shard_id_for_distribution_column('ledger.head', p_shard);
  BEGIN
    PERFORM pg_catalog.lock_shard_metadata(5, ARRAY[place]);
    PERFORM 1 FROM pg_catalog.pg_dist_placement p
      JOIN pg_catalog.pg_dist_local_group g ON g.groupid = p.groupid
      WHERE p.shardid = place AND p.shardstate = 1;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'shard % is on another node', p_shard USING ERRCODE = 'serialization_failure';
    END IF;
    EXECUTE format(
      'SELECT * FROM ledger.${ON_SHARD}%s(${inputs.map((_, i) => `$${i + 1}`).join(', ')})', place)
      INTO ${outputs.join(', ')} USING ${inputs.join(', ')};
  END $$`
