-- Why: the hub served with the login that owns the database. Now requests run as a login of hub_app, and the
-- ledger and finance as one of hub_finance, the only role that may post. Neither can become the owner.
-- core/db/logins.ts creates the logins.

DO $$ BEGIN
  CREATE ROLE hub_finance NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another database's migration won
END $$;
DO $$ BEGIN
  CREATE ROLE hub_jobs NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
DO $$ BEGIN
  GRANT hub_app TO hub_finance;
  GRANT hub_jobs TO CURRENT_USER; -- to give it the schema of the job queue
EXCEPTION WHEN unique_violation THEN NULL;
END $$;

REVOKE EXECUTE ON FUNCTION ledger.post, ledger.apply, ledger.close_period FROM hub_app;
GRANT EXECUTE ON FUNCTION ledger.post, ledger.apply, ledger.close_period TO hub_finance;
GRANT SELECT ON hub.migration TO hub_app; -- to see that none is missing

-- The job queue manages its own schema, in a role that owns nothing else.
CREATE SCHEMA IF NOT EXISTS pgboss;
GRANT USAGE, CREATE ON SCHEMA pgboss TO hub_jobs; -- an owner that is no superuser gives objects only so
DO $$
DECLARE
  command text;
BEGIN
  FOR command IN
    SELECT format('ALTER %s %s OWNER TO hub_jobs', CASE c.relkind WHEN 'v' THEN 'VIEW'
        WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass)
      FROM pg_class c WHERE c.relnamespace = 'pgboss'::regnamespace AND (c.relkind IN ('r', 'p', 'v')
        OR c.relkind = 'S' AND NOT EXISTS (SELECT FROM pg_depend d
          WHERE d.objid = c.oid AND d.deptype IN ('a', 'i')))
    UNION ALL
    SELECT format('ALTER FUNCTION %s OWNER TO hub_jobs', p.oid::regprocedure)
      FROM pg_proc p WHERE p.pronamespace = 'pgboss'::regnamespace
    UNION ALL
    SELECT format('ALTER TYPE %s OWNER TO hub_jobs', t.oid::regtype)
      FROM pg_type t WHERE t.typnamespace = 'pgboss'::regnamespace AND t.typtype IN ('e', 'd')
    UNION ALL
    SELECT 'ALTER SCHEMA pgboss OWNER TO hub_jobs'
  LOOP
    EXECUTE command;
  END LOOP;
END $$;
