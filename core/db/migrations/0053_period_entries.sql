-- Why: a closed month was a row beside the journal, which its owner could delete without a trace. Now closing
-- is an entry of the journal, under its seals and checkpoints, and `ledger.period` only reads these entries.

INSERT INTO ledger.account (id, code, asset, home) VALUES (60, 'equity:periods', 1, 0);
INSERT INTO ledger.kind (id, event, phase, debits, credits, meaning, needs) VALUES
  (50, 'period.closed', 0, '{}', '{}', 'a month is closed: no later entry is dated in it or before it',
    '{month,author}');

-- The legs of a single-step entry: two to eight, and together zero; none for an event that moves nothing.
CREATE OR REPLACE FUNCTION ledger.is_balanced(accounts bigint[], amounts bigint[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN coalesce(accounts = '{}' AND amounts = '{}' OR cardinality(accounts) BETWEEN 2 AND 8
    AND cardinality(accounts) = cardinality(amounts)
    AND array_dims(accounts) = format('[1:%s]', cardinality(accounts))
    AND array_dims(amounts) = array_dims(accounts)
    AND array_position(accounts, NULL) IS NULL AND array_position(amounts, NULL) IS NULL
    AND (SELECT sum(amount) = 0 FROM unnest(amounts) u(amount)), false);
END $$;

-- Read and locked by every post, so that the closed months cost it nothing. Verification compares it with
-- the entries.
ALTER TABLE ledger.head ADD COLUMN open_since timestamptz NOT NULL DEFAULT '-infinity';
CREATE OR REPLACE FUNCTION ledger.open_since() RETURNS timestamptz LANGUAGE sql STABLE RETURN
  (SELECT coalesce(max(h.open_since), '-infinity') FROM ledger.head h);
CREATE OR REPLACE FUNCTION ledger.open_shard(p_shard smallint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO head (shard, open_since) VALUES (p_shard, open_since()) ON CONFLICT DO NOTHING;
  INSERT INTO balance (account, shard, asset, floor)
    SELECT id, p_shard, asset, CASE class WHEN 'liabilities' THEN 0 END FROM account WHERE home IS NULL
    ON CONFLICT DO NOTHING $$;

-- Posts the entry that closes a month, later than all entries of all shards; the caller has locked them.
CREATE FUNCTION ledger.post_closing(p_month date, p_meta jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  over timestamptz := (p_month + interval '1 month') AT TIME ZONE 'UTC';
  instant timestamptz;
  place head;
  entry journal;
BEGIN
  SELECT greatest(clock_timestamp(), over, max(h.at) + interval '1 microsecond') INTO instant FROM head h;
  SELECT * INTO STRICT place FROM head h WHERE h.shard = 0;
  SELECT first_id(over), 60, place.seq + 1, instant, 0, 0, 0, 0, NULL, 0, 0, 0, 1, 0, k.id, 0, NULL,
      '{}', '{}', NULL, p_meta || jsonb_build_object('month', to_char(p_month, 'YYYY-MM')), NULL
    INTO entry FROM kind k WHERE k.event = 'period.closed';
  entry.leaf := leaf(entry);
  INSERT INTO journal SELECT entry.*;
  PERFORM seal_batch(0::smallint, place.seq, 1, place.hash, instant, entry.id, entry.id);
  UPDATE head SET at = instant, open_since = over; -- no later entry is before it, even by a clock set back
END $$;
REVOKE EXECUTE ON FUNCTION ledger.post_closing FROM PUBLIC;

DO $$ BEGIN
  PERFORM ledger.ensure_partitions();
  PERFORM FROM ledger.head ORDER BY shard FOR UPDATE;
  PERFORM ledger.post_closing(p.month, jsonb_build_object('author', p.author, 'closed_at', p.closed_at))
    FROM (SELECT * FROM ledger.period ORDER BY month) p;
END $$;

-- Closed months, in order: `closed_at` is the time of the entry, or the earlier one that it names. Entries
-- with an earlier posting time came before it.
DROP TABLE ledger.period;
CREATE VIEW ledger.period AS
  SELECT (j.meta ->> 'month' || '-01')::date AS month,
    coalesce((j.meta ->> 'closed_at')::timestamptz, j.at) AS closed_at, j.meta ->> 'author' AS author,
    j.shard, j.seq, j.at
  FROM ledger.journal j WHERE j.owner = 60 AND j.phase = 0;
GRANT SELECT ON ledger.period TO hub_app;

-- Closes every month up to this one, in order, from the first that has entries, and returns those that were
-- open. A month can be closed when it is over.
CREATE OR REPLACE FUNCTION ledger.close_period(p_month date, p_author text) RETURNS SETOF date
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  first date;
  closing date;
BEGIN
  PERFORM FROM head ORDER BY shard FOR UPDATE; -- nobody posts while the month is closed
  IF (p_month + interval '1 month') AT TIME ZONE 'UTC' > clock_timestamp() THEN
    RAISE EXCEPTION 'the month % is not over yet', to_char(p_month, 'YYYY-MM')
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT coalesce((SELECT max(p.month) + interval '1 month' FROM period p),
      least(date_trunc('month', min(s.at) AT TIME ZONE 'UTC'), p_month)) INTO first FROM seal s;
  FOR closing IN SELECT generate_series(first, p_month, interval '1 month') LOOP
    PERFORM post_closing(closing, jsonb_build_object('author', p_author));
    RETURN NEXT closing;
  END LOOP;
END $$;
