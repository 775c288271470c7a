import type { ClientBase } from 'pg'

/**
 * Drops the views of the ledger, runs work in the same transaction, and creates them again on the
 * coordinator only. Citus copies a table to nodes with its views and their functions, some of which
 * take a row of that table, and so exist only after it.
 */
export async function withoutViews(client: ClientBase, work: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ name: string; create: string }>(
    `SELECT c.oid::regclass::text AS name,
       format('CREATE VIEW %s AS %s; GRANT SELECT ON %s TO hub_app',
       c.oid::regclass, rtrim(pg_get_viewdef(c.oid), ';'), c.oid::regclass) AS create
     FROM pg_class c WHERE c.relkind = 'v' AND c.relnamespace = 'ledger'::regnamespace ORDER BY 1`,
  )
  for (const { name } of rows) await client.query(`DROP VIEW ${name}`)
  await work()
  await client.query('SET LOCAL citus.enable_ddl_propagation = off')
  for (const { create } of rows) await client.query(create)
  await client.query('SET LOCAL citus.enable_ddl_propagation = on')
}
