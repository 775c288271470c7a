-- Why: one limit per person and day covers all acts of staff about money; above it, a second person decides.

-- What staff did about money or rights, alone or proposed by one person and decided by another one.
CREATE TABLE hub.staff_act (
  id uuid PRIMARY KEY,                           -- of an adjustment: its entry in the journal, too
  kind text NOT NULL CHECK (kind IN ('adjustment', 'refund', 'exception', 'transfer', 'provider')),
  subject text NOT NULL CHECK (subject <> ''),   -- the call, the exception, the transaction …
  terms jsonb NOT NULL,
  accounts text[] NOT NULL,                      -- that it changes
  exposure bigint NOT NULL CHECK (exposure >= 0), -- microdollars
  alone_max bigint CHECK (alone_max >= 0),       -- of one person and day, then; null: before it was recorded
  reason text NOT NULL CHECK (length(trim(reason)) BETWEEN 1 AND 500),
  proposed_by text NOT NULL,                     -- their name
  proposer text NOT NULL REFERENCES hub.principal,
  person text[] NOT NULL,                        -- all principals of the proposer, then
  proposed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL CHECK (state IN ('proposed', 'booked', 'declined')),
  decided_by text,
  decider text REFERENCES hub.principal,         -- null: done alone
  decided_at timestamptz,
  note text CHECK (length(trim(note)) BETWEEN 1 AND 500),
  CHECK ((state = 'proposed') = (decided_at IS NULL)),
  CHECK (num_nulls(decided_by, decider, note) IN (0, 3)),
  CHECK (state <> 'proposed' OR decider IS NULL),
  CHECK (state <> 'declined' OR decider IS NOT NULL),
  CHECK (state <> 'booked' OR decider <> ALL (person)) -- the proposer may withdraw it, and not book it
);
INSERT INTO hub.staff_act (id, kind, subject, terms, accounts, exposure, reason, proposed_by, proposer,
    person, proposed_at, state, decided_by, decider, decided_at, note)
  SELECT id, 'adjustment', id::text, jsonb_strip_nulls(jsonb_build_object('debit', debit, 'credit', credit,
      'amount', amount::text, 'shard', shard, 'valueDate', value_date,
      'asset', (SELECT s.code FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset
        WHERE a.code = debit))),
    ARRAY[debit, credit], amount, reason, proposed_by, proposer,
    -- What one person booked with two identities stays booked.
    CASE state WHEN 'booked' THEN ARRAY[proposer] ELSE hub.principals_of_person(proposer) END,
    proposed_at, state, decided_by, decider, decided_at, note FROM hub.adjustment;
DROP TABLE hub.adjustment;
DROP FUNCTION hub.keep_adjustment();
CREATE INDEX staff_act_open ON hub.staff_act (id) WHERE state = 'proposed';
CREATE INDEX staff_act_alone ON hub.staff_act (proposed_at) WHERE state = 'booked' AND decider IS NULL;
CREATE UNIQUE INDEX staff_act_once ON hub.staff_act (kind, subject) WHERE state = 'proposed';

CREATE FUNCTION hub.keep_staff_act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.state <> 'proposed' OR (NEW.id, NEW.kind, NEW.subject, NEW.terms, NEW.accounts, NEW.exposure,
      NEW.alone_max, NEW.reason, NEW.proposed_by, NEW.proposer, NEW.person, NEW.proposed_at)
    IS DISTINCT FROM (OLD.id, OLD.kind, OLD.subject, OLD.terms, OLD.accounts, OLD.exposure,
      OLD.alone_max, OLD.reason, OLD.proposed_by, OLD.proposer, OLD.person, OLD.proposed_at) THEN
    RAISE EXCEPTION 'act % stays as it was proposed', OLD.id USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER keep BEFORE UPDATE ON hub.staff_act FOR EACH ROW EXECUTE FUNCTION hub.keep_staff_act();
CREATE TRIGGER keep_row BEFORE DELETE ON hub.staff_act FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
CREATE TRIGGER keep_table BEFORE TRUNCATE ON hub.staff_act
  FOR EACH STATEMENT EXECUTE FUNCTION hub.keep_row();
GRANT SELECT ON hub.staff_act TO hub_app;

-- Roles that may decide about acts of a kind.
CREATE FUNCTION hub.deciding_roles(p_kind text) RETURNS text[] LANGUAGE sql IMMUTABLE AS
  $$ SELECT CASE p_kind WHEN 'provider' THEN ARRAY['admin'] ELSE ARRAY['admin', 'finance'] END $$;

-- What the person behind a principal did alone on this UTC day, in microdollars.
CREATE FUNCTION hub.done_alone(p_principal text) RETURNS bigint
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT coalesce(sum(exposure), 0)::bigint FROM staff_act
  WHERE state = 'booked' AND decider IS NULL
    AND proposed_at >= date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
    AND person && principals_of_person(p_principal) $$;

-- An adjustment in favor of an agent or a provider, or not in USDC, and a deposit that is booked as credits
-- of an agent always need a second person; every other act does if the person's acts of the day exceed the
-- limit.
CREATE FUNCTION hub.needs_second_person(
  p_principal text, p_kind text, p_terms jsonb, p_exposure bigint, p_alone_max bigint
) RETURNS boolean LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT (p_kind = 'adjustment' AND (p_terms ->> 'asset' IS DISTINCT FROM 'USDC'
      OR p_terms ->> 'credit' LIKE ANY ('{liabilities:agents:%,liabilities:providers:%}')))
    OR (p_kind = 'exception' AND p_terms ->> 'decision' = 'identified')
    OR done_alone(p_principal) + p_exposure > p_alone_max $$;

-- Records an act: done alone, or proposed.
CREATE FUNCTION hub.open_act(
  p_id uuid, p_kind text, p_subject text, p_terms jsonb, p_accounts text[], p_principals text[],
  p_exposure bigint, p_alone_max bigint, p_reason text, p_name text, p_principal text, p_state text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  PERFORM begin_act();
  IF own_subject(p_principal, p_accounts, p_principals) IS NOT NULL THEN
    RAISE EXCEPTION 'nobody decides about accounts of their own' USING ERRCODE = 'AH011';
  END IF;
  IF p_state <> 'proposed'
      AND needs_second_person(p_principal, p_kind, p_terms, p_exposure, p_alone_max) THEN
    RAISE EXCEPTION 'the act needs a second person' USING ERRCODE = 'AH012';
  END IF;
  INSERT INTO staff_act (id, kind, subject, terms, accounts, exposure, alone_max, reason, proposed_by,
      proposer, person, state, decided_at)
    VALUES (p_id, p_kind, p_subject, p_terms, p_accounts, p_exposure, p_alone_max, p_reason, p_name,
      p_principal, principals_of_person(p_principal), p_state,
      CASE WHEN p_state <> 'proposed' THEN clock_timestamp() END);
END $$;

-- Confirms or declines an act. Returns why not; null if it is decided.
CREATE FUNCTION hub.decide_act(
  p_id uuid, p_state text, p_note text, p_name text, p_principal text, p_principals text[], p_admins text[]
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  act staff_act;
  fault text;
BEGIN
  PERFORM begin_act();
  SELECT * INTO act FROM staff_act WHERE id = p_id AND state = 'proposed';
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF p_state = 'booked' THEN
    IF own_subject(p_principal, act.accounts, p_principals) IS NOT NULL THEN RETURN 'own_account'; END IF;
    fault := second_person_fault(p_principal, act.proposer, act.person, act.proposed_at,
      deciding_roles(act.kind), p_admins);
    IF fault IS NOT NULL THEN RETURN fault; END IF;
  END IF;
  UPDATE staff_act SET state = p_state, decided_by = p_name, decider = p_principal,
    decided_at = clock_timestamp(), note = p_note WHERE id = p_id;
  RETURN NULL;
END $$;

REVOKE EXECUTE ON FUNCTION hub.grant_role, hub.confirm_role, hub.open_act, hub.decide_act FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.grant_role, hub.confirm_role, hub.open_act, hub.decide_act TO hub_app;
