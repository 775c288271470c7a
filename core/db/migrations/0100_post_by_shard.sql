-- upgrade: expand
-- As in 0099_ledger_by_shard.sql, for what posts entries.
CREATE OR REPLACE FUNCTION ledger.overdraws_asset(p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[])
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  leg record;
  place smallint;
BEGIN
  IF p_kind.event IN ('receipt.confirmed', 'receipt.vanished', 'external.confirmed', 'external.lost',
      'payout.confirmed', 'gas.paid', 'wallet.moved') THEN
    RETURN false;
  END IF;
  FOR leg IN SELECT u.account, sum(u.amount) AS credit FROM unnest(p_accounts, p_amounts) u(account, amount)
      JOIN account a ON a.id = u.account AND a.class = 'assets'
      GROUP BY u.account HAVING sum(u.amount) > 0 ORDER BY u.account LOOP
    FOR place IN SELECT h.shard FROM head h ORDER BY h.shard LOOP
      PERFORM 1 FROM balance b WHERE b.account = leg.account AND b.shard = place FOR UPDATE;
    END LOOP;
    IF leg.credit + (SELECT sum(b.balance) FROM balance b WHERE b.account = leg.account) > 0 THEN
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
END $$;

CREATE OR REPLACE FUNCTION ledger.check_debt(
  p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[], p_meta jsonb
)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  debtor text := p_meta ->> 'provider';
  cleared bigint;
  place smallint;
BEGIN
  IF p_kind.id NOT IN (39, 40) OR NOT 9 = ANY (p_accounts) THEN RETURN; END IF;
  IF coalesce(debtor, '') = '' THEN
    RAISE EXCEPTION '% needs the provider whose debt it changes', p_kind.event
      USING ERRCODE = 'check_violation';
  END IF;
  PERFORM 1 FROM hub.provider WHERE id = debtor FOR NO KEY UPDATE;
  FOR place IN SELECT h.shard FROM head h ORDER BY h.shard LOOP
    PERFORM 1 FROM balance WHERE account = 9 AND shard = place FOR UPDATE;
  END LOOP;
  SELECT sum(u.amount) INTO cleared FROM unnest(p_accounts, p_amounts) u(account, amount) WHERE u.account = 9;
  IF cleared > (SELECT coalesce(sum(d.amount), 0) FROM debt_change d WHERE d.provider = debtor) THEN
    RAISE EXCEPTION 'provider % owes less', debtor USING ERRCODE = 'check_violation';
  END IF;
END $$;

CREATE OR REPLACE FUNCTION ledger.check_lapse(
  p_kind ledger.kind, p_accounts bigint[], p_amounts bigint[], p_meta jsonb
)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  notice uuid := p_meta ->> 'notice';
  expired bigint;
  credits bigint[]; -- accounts of the principal that the notice was sent to
  earlier bigint; -- has lapsed by this notice already
BEGIN
  IF p_kind.event <> 'credits.lapsed' THEN RETURN; END IF;
  IF notice IS NOT NULL THEN
    SELECT sum(u) INTO expired FROM unnest(p_amounts) u WHERE u > 0;
    SELECT array_agg(k.credits) INTO credits FROM hub.lapse_notice n
      JOIN hub.api_key k ON k.principal = n.principal WHERE n.id = notice AND k.credits IS NOT NULL;
    SELECT coalesce(sum(-j.amounts[1]), 0) INTO earlier FROM journal j
      WHERE j.id = notice AND j.phase = 0 AND j.owner = ANY (credits);
    IF p_accounts[1] = ANY (credits) IS NOT TRUE OR NOT EXISTS (SELECT 1 FROM hub.lapse_notice n
        WHERE n.id = notice AND n.done_at IS NULL AND n.due_at <= clock_timestamp()
          AND n.amount >= expired + earlier) THEN
      RAISE EXCEPTION 'no notice is due of so many credits' USING ERRCODE = 'check_violation';
    END IF;
  ELSIF EXISTS (SELECT 1 FROM hub.api_key k
      WHERE k.credits = ANY (p_accounts) AND k.parent IS NULL AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())) THEN
    RAISE EXCEPTION 'the key works: its credits do not lapse' USING ERRCODE = 'check_violation';
  END IF;
END $$;

DROP FUNCTION ledger.reversal_fault(bigint, uuid, bigint[], bigint[]);
CREATE OR REPLACE FUNCTION ledger.reversal_fault(
  p_shard smallint, p_owner bigint, p_id uuid, p_accounts bigint[], p_amounts bigint[]
)
 RETURNS smallint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  settled journal;
  is_sale boolean;
  paid bigint;
BEGIN
  SELECT * INTO settled FROM journal WHERE shard = p_shard AND owner = p_owner AND id = p_id
    AND (phase = 2 AND kind = 2 OR phase = 0 AND kind = 18);
  IF NOT FOUND THEN RETURN 3; END IF;
  is_sale := settled.kind = 18;
  paid := CASE WHEN is_sale THEN (SELECT sum(u) FROM unnest(settled.amounts) u WHERE u > 0)
    ELSE settled.amount END;
  IF (SELECT bool_or(NOT (CASE WHEN is_sale THEN u.account IN (8, 23) ELSE u.account = p_owner END))
      OR sum(u.amount) > paid FROM unnest(p_accounts, p_amounts) u(account, amount) WHERE u.amount > 0) THEN
    RETURN 4;
  END IF;
  IF is_sale AND NOT EXISTS (SELECT 1 FROM journal
      WHERE owner = 4 AND id = p_id AND phase = 0 AND kind = 17) THEN
    RAISE EXCEPTION 'the payment of the call is not final' USING ERRCODE = 'check_violation';
  END IF;
  IF settled.payee = 6 AND NOT EXISTS (SELECT 1 FROM journal
      WHERE owner = 6 AND id = p_id AND phase = 0 AND kind = 19) THEN
    RAISE EXCEPTION 'the payment to the seller is not final' USING ERRCODE = 'check_violation';
  END IF;
  IF (CASE settled.payee WHEN 6 THEN 9 ELSE 15 END) = ANY (p_accounts) THEN
    RAISE EXCEPTION 'a refund is a loss of the platform if an external seller was paid, and only then'
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION ledger.post(
  p_shard smallint, p_owner bigint, p_id uuid, p_event text, p_accounts bigint[], p_amounts bigint[],
  p_effective_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_meta jsonb DEFAULT
  NULL::jsonb
)
 RETURNS smallint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  base bigint;
  link bytea;
  instant timestamptz;
  known journal;
  refused smallint;
  entry journal;
  posted kind;
  updated integer;
BEGIN
  SELECT h.seq, h.hash, greatest(clock_timestamp(), h.at) INTO STRICT base, link, instant
    FROM head h WHERE h.shard = p_shard FOR UPDATE;
  SELECT * INTO posted FROM kind k WHERE k.event = p_event AND k.phase IN (0, 3);
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such event: %', p_event USING ERRCODE = 'check_violation';
  END IF;
  SELECT * INTO known FROM journal
    WHERE shard = p_shard AND owner = p_owner AND id = p_id AND phase = posted.phase;
  IF FOUND THEN
    RETURN CASE WHEN known.kind = posted.id AND known.accounts = p_accounts
      AND known.amounts = p_amounts THEN 2 ELSE 5 END;
  END IF;
  PERFORM check_entry(posted, p_accounts, p_amounts, p_meta);
  IF p_effective_at < open_since() THEN
    RAISE EXCEPTION 'the books of % are closed', to_char(p_effective_at AT TIME ZONE 'UTC', 'YYYY-MM')
      USING ERRCODE = 'AH001';
  END IF;
  IF posted.phase = 3 THEN
    refused := reversal_fault(p_shard, p_owner, p_id, p_accounts, p_amounts);
    IF refused IS NOT NULL THEN RETURN refused; END IF;
  END IF;
  IF overdraws_asset(posted, p_accounts, p_amounts) THEN RETURN 0; END IF;
  IF EXISTS (SELECT 1 FROM (SELECT u.account, sum(u.amount) AS delta
        FROM unnest(p_accounts, p_amounts) u(account, amount) GROUP BY u.account) d
      JOIN balance b ON b.account = d.account AND b.shard = p_shard
      WHERE b.balance + d.delta < b.floor) THEN
    RETURN 0;
  END IF;
  -- Clocks of the outside may be a little ahead of ours: then its value date is when it is booked.
  SELECT p_id, p_owner, base + 1, instant, 0, 0, 0, 0, NULL, 0, 0, 0, a.asset, p_shard, posted.id,
      posted.phase, NULL, p_accounts, p_amounts,
      CASE WHEN p_effective_at < instant THEN p_effective_at END, p_meta, NULL
    INTO entry FROM account a WHERE a.id = p_accounts[1];
  entry.leaf := leaf(entry);
  INSERT INTO journal SELECT entry.*;
  UPDATE balance b SET balance = b.balance + d.delta
    FROM (SELECT u.account, sum(u.amount)::bigint AS delta
      FROM unnest(p_accounts, p_amounts) u(account, amount) GROUP BY u.account) d
    WHERE b.account = d.account AND b.shard = p_shard;
  GET DIAGNOSTICS updated = ROW_COUNT;
  IF updated <> (SELECT count(DISTINCT a) FROM unnest(p_accounts) a) THEN
    RAISE EXCEPTION 'an account has no balance on shard %: %', p_shard, p_accounts
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  PERFORM seal_batch(p_shard, base, 1, link, instant, p_id, p_id);
  RETURN 1;
END $$;

CREATE OR REPLACE FUNCTION ledger.close_period(p_month date, p_author text)
 RETURNS SETOF date
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'ledger', 'pg_temp'
AS $$
DECLARE
  place smallint;
  first date;
  closing date;
BEGIN
  FOR place IN SELECT h.shard FROM head h ORDER BY h.shard LOOP -- nobody posts while the month is closed
    PERFORM 1 FROM head h WHERE h.shard = place FOR UPDATE;
  END LOOP;
  IF (p_month + interval '1 month') AT TIME ZONE 'UTC' > clock_timestamp() THEN
    RAISE EXCEPTION 'the month % is not over yet', to_char(p_month, 'YYYY-MM')
      USING ERRCODE = 'check_violation';
  END IF;
  SELECT max(p.month) + interval '1 month' INTO first FROM period p;
  IF first IS NULL THEN
    SELECT least(date_trunc('month', min(s.at) AT TIME ZONE 'UTC'), p_month) INTO first FROM seal s;
  END IF;
  FOR closing IN SELECT generate_series(first, p_month, interval '1 month') LOOP
    PERFORM post_closing(closing, jsonb_build_object('author', p_author));
    RETURN NEXT closing;
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION ledger.reversal_fault FROM PUBLIC;

CREATE OR REPLACE FUNCTION hub.refuse_payment_without_hold() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = hub, pg_temp AS $$
DECLARE
  place smallint;
BEGIN
  PERFORM hub.lock_payment(NEW.call);
  SELECT coalesce(a.home, 0) INTO place FROM ledger.account a WHERE a.id = NEW.owner;
  IF EXISTS (SELECT 1 FROM ledger.journal j
      WHERE j.shard = place AND j.owner = NEW.owner AND j.id = NEW.call AND j.phase = 2) THEN
    RAISE EXCEPTION 'call % can no longer pay', NEW.call USING ERRCODE = 'AH014';
  END IF;
  IF EXISTS (SELECT 1 FROM abandoned_attempt a WHERE a.call = NEW.call) THEN
    RAISE EXCEPTION 'call % can no longer pay', NEW.call USING ERRCODE = 'AH014';
  END IF;
  RETURN NEW;
END $$;
