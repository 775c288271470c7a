-- Why: hubs that started at the same time on a new database failed, because each of them published the same
-- key. A conflict in `id` alone was awaited; the one in `public_key` raised an error.

CREATE OR REPLACE FUNCTION ledger.add_signing_key(p_id text, p_public_key bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO signing_key (id, public_key) VALUES (p_id, p_public_key) ON CONFLICT DO NOTHING $$;
