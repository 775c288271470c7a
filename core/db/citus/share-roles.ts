import type { ClientBase } from 'pg'
import { ConfigError } from '../../runtime/config-error.ts'

/**
 * Creates the roles of the hub on every node, with the passwords and memberships that they have on
 * the coordinator. Queries of the ledger reach the nodes in the role that sent them, so the roles
 * may log in; `pg_hba.conf` and `pg_dist_authinfo` decide how nodes trust each other.
 */
export async function shareRoles(client: ClientBase): Promise<void> {
  await client.query(
    'ALTER ROLE hub_app LOGIN; ALTER ROLE hub_finance LOGIN; ALTER ROLE hub_jobs LOGIN',
  )
  const { rows } = await client.query<{ statement: string }>(
    `WITH RECURSIVE member AS (
       SELECT oid FROM pg_roles WHERE rolname IN ('hub_app', 'hub_finance', 'hub_jobs')
       UNION SELECT m.member FROM pg_auth_members m JOIN member r ON r.oid = m.roleid
     ), role AS (
       SELECT a.* FROM pg_authid a WHERE a.oid IN (SELECT oid FROM member) AND NOT a.rolsuper
     )
     SELECT s.statement FROM (
       SELECT 1 AS step, r.rolname AS name, format('DO $do$ BEGIN CREATE ROLE %I;
           EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $do$', r.rolname)
         AS statement FROM role r
       UNION ALL
       SELECT 2, r.rolname, format('ALTER ROLE %I LOGIN %s %s', r.rolname,
           CASE WHEN r.rolinherit THEN 'INHERIT' ELSE 'NOINHERIT' END,
           CASE WHEN r.rolpassword IS NOT NULL THEN format('PASSWORD %L', r.rolpassword) END)
         FROM role r
       UNION ALL
       SELECT 3, m.rolname, format('GRANT %I TO %I', g.rolname, m.rolname)
         FROM pg_auth_members a JOIN role g ON g.oid = a.roleid JOIN role m ON m.oid = a.member
     ) s ORDER BY s.step, s.name`,
  )
  for (const { statement } of rows) await runOnWorkers(client, statement)
}

/** Runs a statement on all nodes but the coordinator. @throws ConfigError with the first failure */
async function runOnWorkers(client: ClientBase, statement: string): Promise<void> {
  await runOn(client, 'run_command_on_workers', statement)
}

/** Runs a statement on every node. @throws ConfigError with the first failure */
export async function runOnNodes(client: ClientBase, statement: string): Promise<void> {
  await runOn(client, 'run_command_on_all_nodes', statement)
}

async function runOn(client: ClientBase, run: string, statement: string): Promise<void> {
  const quiet = `DO $run$ BEGIN
    PERFORM set_config('citus.enable_ddl_propagation', 'off', true);
    EXECUTE ${client.escapeLiteral(statement)};
  END $run$`
  const { rows } = await client.query<{ success: boolean; result: string }>(
    `SELECT success, result FROM ${run}($1)`,
    [quiet],
  )
  const failed = rows.find(({ success }) => !success)
  if (failed) throw new ConfigError(`A node of the cluster failed: ${failed.result}`)
}
