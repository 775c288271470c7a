-- upgrade: expand
-- Why: queries of payouts and statements read entries of the shard of each of their rows, which Citus cannot
-- plan. As functions they are inlined on one server, and run row by row on a cluster.

CREATE FUNCTION ledger.entry_at(p_shard smallint, p_seq bigint) RETURNS SETOF ledger.journal
  LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT * FROM ledger.journal j WHERE j.shard = p_shard AND j.seq = p_seq LIMIT 1 $$;

CREATE FUNCTION ledger.entry_of(p_shard smallint, p_owner bigint, p_id uuid, p_phase smallint)
  RETURNS SETOF ledger.journal LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT * FROM ledger.journal j
  WHERE j.shard = p_shard AND j.owner = p_owner AND j.id = p_id AND j.phase = p_phase LIMIT 1 $$;

-- Entries of these owners with these ids, by pair.
CREATE FUNCTION ledger.entries_of(p_owners bigint[], p_ids uuid[]) RETURNS SETOF ledger.journal
  LANGUAGE sql STABLE ROWS 10 AS $$
  SELECT j.* FROM unnest(p_owners, p_ids) w(owner, id)
  JOIN ledger.journal j ON j.owner = w.owner AND j.id = w.id $$;

-- Refunds of sales of an account that took nothing from it, because all had been paid out.
CREATE FUNCTION ledger.owed_refunds(p_account bigint, p_shard smallint, p_after bigint, p_before bigint)
  RETURNS TABLE(seq bigint, amount bigint) LANGUAGE sql STABLE ROWS 10 AS $$
  SELECT r.seq, 0::bigint FROM ledger.journal r
  WHERE r.shard = p_shard AND r.seq > p_after AND r.seq < p_before
    AND r.kind IN (29, 43) AND 9 = ANY (r.accounts) AND NOT p_account = ANY (r.accounts)
    AND (r.kind = 43 AND r.owner = p_account OR EXISTS (SELECT 1 FROM ledger.journal s
      WHERE s.shard = p_shard AND s.owner = r.owner AND s.id = r.id AND s.phase = 2
        AND s.payee = p_account)) $$;

-- Balances of a provider over all shards, by service.
CREATE FUNCTION ledger.earnings_of(p_provider text) RETURNS TABLE(service text, owed bigint)
  LANGUAGE sql STABLE ROWS 10 AS $$
  SELECT split_part(a.code, ':', 4), sum(b.balance)::bigint
  FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
  WHERE a.code LIKE 'liabilities:providers:%' AND split_part(a.code, ':', 3) = p_provider GROUP BY 1 $$;

-- Time of the last manual credit to a provider after `p_since`.
CREATE FUNCTION ledger.credited_at(p_provider text, p_since timestamptz) RETURNS timestamptz
  LANGUAGE sql STABLE AS $$
  SELECT max(j.at)
  FROM ledger.journal j CROSS JOIN LATERAL unnest(j.accounts, j.amounts) u(account, amount)
  JOIN ledger.account a ON a.id = u.account
  WHERE j.kind = 40 AND j.at > p_since AND u.amount > 0
    AND a.code LIKE 'liabilities:providers:%' AND split_part(a.code, ':', 3) = p_provider $$;

-- Balance of an account on a shard after the entry `p_seq`, from the last snapshot before it.
CREATE FUNCTION ledger.balance_after(p_account bigint, p_shard smallint, p_seq bigint) RETURNS bigint
  LANGUAGE plpgsql STABLE AS $$
DECLARE
  reached bigint;
  held numeric;
BEGIN
  SELECT s.seq_to, s.credits - s.debits INTO reached, held FROM ledger.snapshot s
    WHERE s.account = p_account AND s.shard = p_shard AND s.seq_to <= p_seq ORDER BY s.seq_to DESC LIMIT 1;
  RETURN coalesce(held, 0) + coalesce((SELECT sum(n.amount)
    FROM ledger.next_entries(p_account, p_shard, coalesce(reached, 0), p_seq, 1000000000) n), 0);
END $$;

-- Charges of an account on a shard after the entry `p_after`, up to `p_upto`, by payee.
CREATE FUNCTION ledger.charges_between(p_account bigint, p_shard smallint, p_after bigint, p_upto bigint)
  RETURNS TABLE(payee bigint, entries bigint, first_seq bigint, last_seq bigint, amount bigint)
  LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
  ids record;
BEGIN
  SELECT i.* INTO ids FROM ledger.ids_between(p_shard, p_after + 1, p_upto) i;
  RETURN QUERY SELECT j.payee, count(*), min(j.seq), max(j.seq), sum(j.amount)::bigint FROM ledger.journal j
    WHERE j.owner = p_account AND j.id BETWEEN ids.id_first AND ids.id_last
      AND j.phase = 2 AND j.kind = 2 AND j.shard = p_shard AND j.seq > p_after AND j.seq <= p_upto
    GROUP BY j.payee;
END $$;

GRANT EXECUTE ON FUNCTION ledger.charges_between, ledger.balance_after, ledger.entry_at, ledger.entry_of,
  ledger.entries_of, ledger.owed_refunds, ledger.earnings_of, ledger.credited_at TO hub_app;

CREATE OR REPLACE FUNCTION hub.payout_hold(
  p_provider text, p_payee text, p_amount bigint, p_rules hub.payout_rules
) RETURNS TABLE(rule text, until timestamptz) LANGUAGE plpgsql STABLE AS $$
DECLARE
  moment timestamptz := clock_timestamp();
BEGIN
  IF p_rules.first_hours > 0 AND NOT EXISTS (SELECT FROM hub.payout o
      JOIN hub.provider p ON p.id = o.provider
      JOIN hub.payout_address a ON a.provider = p.id AND a.set_by = p.owner AND a.address = o.payee
      WHERE o.provider = p_provider AND o.state = 'confirmed') THEN
    SELECT coalesce(f.due_at, moment) + make_interval(hours => p_rules.first_hours) INTO until
      FROM hub.provider p LEFT JOIN hub.payout_first f ON f.provider = p.id AND f.owner = p.owner
      WHERE p.id = p_provider;
    IF until > moment THEN
      rule := 'first_payout';
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  until := ledger.credited_at(p_provider, moment - make_interval(hours => p_rules.credit_hours))
    + make_interval(hours => p_rules.credit_hours);
  IF until IS NOT NULL THEN
    rule := 'manual_credit';
    RETURN NEXT;
    RETURN;
  END IF;
  IF p_amount + hub.paid_to_person(p_provider, p_payee) > p_rules.alone
      AND NOT EXISTS (SELECT FROM hub.usable_approval(p_provider, p_payee) u WHERE u.amount >= p_amount) THEN
    rule := 'approval';
    until := CASE WHEN p_amount <= p_rules.alone THEN date_trunc('day', moment, 'UTC') + interval '1 day' END;
    RETURN NEXT;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION hub.admit_payout_part() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  due bigint := hub.commission_due(NEW.account);
BEGIN
  IF NEW.rounding > due OR NOT EXISTS (SELECT 1 FROM ledger.journal j
      WHERE j.owner = NEW.account AND j.id = NEW.rounding_entry AND j.phase = 0 AND j.kind = 44
        AND j.shard = NEW.shard AND j.seq BETWEEN NEW.after_seq AND NEW.upto_seq
        AND j.accounts = ARRAY[NEW.account, 1] AND j.amounts = ARRAY[-NEW.rounding, NEW.rounding]) THEN
    RAISE EXCEPTION 'payout %: commission of % is not due', NEW.payout, NEW.rounding
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
