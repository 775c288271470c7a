-- Why: each minute only new entries were verified; nobody knew when all of them last were, and an old row
-- that was changed without its seal was found by the command alone.

ALTER TABLE ledger.verification
  ADD COLUMN full_at timestamptz,         -- end of the last verification of all entries
  ADD COLUMN full_sound_at timestamptz,   -- of the last one that found no violation
  ADD COLUMN full_failures text[] NOT NULL DEFAULT '{}';

CREATE FUNCTION ledger.record_full_verification(p_failures text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO verification AS v (at, failures, full_at, full_sound_at, full_failures)
    VALUES (clock_timestamp(), '{}', clock_timestamp(),
      CASE WHEN p_failures = '{}' THEN clock_timestamp() END, p_failures)
    ON CONFLICT (single) DO UPDATE SET full_at = excluded.full_at,
      full_failures = excluded.full_failures,
      full_sound_at = coalesce(excluded.full_sound_at, v.full_sound_at) $$;
REVOKE EXECUTE ON FUNCTION ledger.record_full_verification FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.record_full_verification TO hub_app;
