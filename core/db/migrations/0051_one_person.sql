-- Why: an administrator could propose with one identity and confirm with another to which they alone had
-- granted a role; one person could split payouts over providers; and a listing made again under a freed slug
-- had the number of the version that was reviewed.

-- ── Two people ──────────────────────────────────────────────────────────────────────────────

-- True if somebody other than a person held one of the roles then, by grants that lead from a configured
-- administrator (or the owner of the database) to it and do not all pass through that person.
CREATE FUNCTION hub.holds_role_without(
  p_holder text, p_roles text[], p_at timestamptz, p_person text[], p_admins text[]
) RETURNS boolean LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT NOT principals_of_person(p_holder) && p_person AND (is_configured_admin(p_holder, p_admins)
    OR EXISTS (
    WITH RECURSIVE voucher(id, is_root) AS (
      SELECT v.id, v.is_root FROM role r, LATERAL (VALUES (r.granter, r.by_configured), (r.confirmer, false))
          v(id, is_root)
        WHERE r.principal = ANY (acting_principals(p_holder)) AND r.role = ANY (p_roles)
          AND r.effective_at <= p_at AND (r.revoked_at IS NULL OR r.revoked_at > p_at)
          AND ((v.id IS NULL AND v.is_root) OR v.id <> ALL (p_person))
      UNION
      SELECT v.id, v.is_root FROM voucher u
        CROSS JOIN LATERAL unnest(principals_of_person(u.id)) o(id)
        JOIN role r ON r.principal = o.id AND r.role = 'admin',
        LATERAL (VALUES (r.granter, r.by_configured), (r.confirmer, false)) v(id, is_root)
        WHERE (v.id IS NULL AND v.is_root) OR v.id <> ALL (p_person))
    SELECT FROM voucher u WHERE u.is_root OR is_configured_admin(u.id, p_admins))) $$;

-- True if there is no other administrator by configuration or by the owner of the database: nobody else could
-- confirm the grants of this person.
CREATE FUNCTION hub.is_only_root(p_person text[], p_admins text[]) RETURNS boolean
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT NOT EXISTS (
    SELECT FROM unnest(p_admins) a(wallet) LEFT JOIN principal p ON p.wallet_address = a.wallet
      WHERE coalesce(p.id <> ALL (p_person), true)
    UNION ALL
    SELECT FROM role r WHERE r.role = 'admin' AND r.revoked_at IS NULL AND r.granter IS NULL
      AND r.by_configured AND r.principal <> ALL (p_person)) $$;

-- As in 0037_two_people.sql. In addition, no third person, and not the second one, has granted the roles of
-- both: they could be identities of whoever granted them.
CREATE OR REPLACE FUNCTION hub.second_person_fault(
  p_decider text, p_proposer text, p_person text[], p_proposed_at timestamptz, p_roles text[], p_admins text[]
) RETURNS text LANGUAGE plpgsql STABLE SET search_path = hub, pg_temp AS $$
DECLARE
  proposer_person text[] := array_remove(p_person || principals_of_person(p_proposer), NULL);
BEGIN
  IF principals_of_person(p_decider) && proposer_person THEN RETURN 'same_person'; END IF;
  IF NOT is_configured_admin(p_decider, p_admins) AND NOT EXISTS (SELECT FROM role r
      WHERE r.principal = ANY (acting_principals(p_decider)) AND r.role = ANY (p_roles)
        AND r.revoked_at IS NULL AND r.effective_at <= p_proposed_at) THEN
    RETURN 'role_too_new';
  END IF;
  IF NOT holds_role_without(p_decider, p_roles, p_proposed_at, proposer_person, p_admins) THEN
    RETURN 'role_from_proposer';
  END IF;
  IF p_proposer IS NOT NULL AND EXISTS (
    SELECT FROM (SELECT p_decider AS id UNION SELECT r.granter FROM role r WHERE r.granter IS NOT NULL) g
      CROSS JOIN LATERAL (SELECT principals_of_person(g.id) AS ids) one
    WHERE NOT holds_role_without(p_decider, p_roles, p_proposed_at, one.ids, p_admins)
      AND NOT holds_role_without(p_proposer, p_roles, p_proposed_at, one.ids, p_admins)
      AND NOT is_only_root(one.ids, p_admins)) THEN
    RETURN 'roles_from_one_person';
  END IF;
  RETURN NULL;
END $$;

-- As in 0038_staff_acts.sql. A deposit that is booked as credits of an agent needs two people as well.
CREATE OR REPLACE FUNCTION hub.needs_second_person(
  p_principal text, p_kind text, p_terms jsonb, p_exposure bigint, p_alone_max bigint
) RETURNS boolean LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT (p_kind = 'adjustment' AND (p_terms ->> 'asset' IS DISTINCT FROM 'USDC'
      OR p_terms ->> 'credit' LIKE ANY ('{liabilities:agents:%,liabilities:providers:%}')))
    OR (p_kind = 'exception' AND p_terms ->> 'decision' = 'identified')
    OR done_alone(p_principal) + p_exposure > p_alone_max $$;

-- ── Payouts ─────────────────────────────────────────────────────────────────────────────────

-- What left on this UTC day for the person behind a provider: to its address, and to all providers and
-- addresses of its owner or of whoever holds its address.
CREATE FUNCTION hub.paid_to_person(p_provider text, p_payee text) RETURNS bigint
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  WITH me AS MATERIALIZED (
    SELECT unnest(principals_of_person(s.id)) AS id
    FROM (SELECT owner AS id FROM provider WHERE id = p_provider AND owner IS NOT NULL
      UNION SELECT id FROM principal WHERE wallet_address = p_payee) s)
  SELECT coalesce(sum(o.amount), 0)::bigint FROM payout o
  WHERE o.started_at >= date_trunc('day', clock_timestamp(), 'UTC') AND o.state <> 'failed'
    AND (o.provider = p_provider OR o.payee = p_payee
      OR o.provider = ANY (ARRAY(SELECT p.id FROM provider p JOIN me ON me.id = p.owner))
      OR o.payee = ANY (ARRAY(SELECT w.wallet_address FROM principal w JOIN me ON me.id = w.id))) $$;
GRANT EXECUTE ON FUNCTION hub.paid_to_person TO hub_app;

-- As in 0039_payout_rules.sql. What left on the same day for the same person counts: if only that makes an
-- approval necessary, the payout waits at most for the next day.
CREATE OR REPLACE FUNCTION hub.payout_hold(
  p_provider text, p_payee text, p_amount bigint, p_rules hub.payout_rules
) RETURNS TABLE (rule text, until timestamptz) LANGUAGE plpgsql STABLE AS $$
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
  SELECT max(j.at) + make_interval(hours => p_rules.credit_hours) INTO until
    FROM ledger.journal j
    WHERE j.kind = 40 AND j.at > moment - make_interval(hours => p_rules.credit_hours)
      AND EXISTS (SELECT FROM unnest(j.accounts, j.amounts) u(account, amount)
        JOIN ledger.account a ON a.id = u.account
        WHERE u.amount > 0 AND a.code LIKE 'liabilities:providers:%'
          AND split_part(a.code, ':', 3) = p_provider);
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

-- As in 0039_payout_rules.sql, with the cap of a provider for the person behind it.
CREATE OR REPLACE FUNCTION hub.payout_wait(
  p_provider text, p_payee text, p_amount bigint, p_rules hub.payout_rules
) RETURNS TABLE (rule text, until timestamptz) LANGUAGE plpgsql STABLE AS $$
DECLARE
  today timestamptz := date_trunc('day', clock_timestamp(), 'UTC');
  total bigint;
BEGIN
  SELECT h.* INTO rule, until FROM hub.payout_hold(p_provider, p_payee, p_amount, p_rules) h;
  IF rule IS NULL THEN
    SELECT coalesce(sum(o.amount), 0) INTO total FROM hub.payout o
      WHERE o.started_at >= today AND o.state <> 'failed';
    until := today + interval '1 day';
    rule := CASE
      WHEN hub.paid_to_person(p_provider, p_payee) + p_amount > p_rules.provider_cap THEN 'provider_cap'
      WHEN total + p_amount > p_rules.platform_cap THEN 'platform_cap' END;
  END IF;
  IF rule IS NOT NULL THEN RETURN NEXT; END IF;
END $$;

-- As in 0039_payout_rules.sql, with the approval that a payout needs because of others of the same person.
CREATE OR REPLACE FUNCTION hub.admit_payout() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  refusal text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('hub.outgoing_switch'));
  PERFORM pg_advisory_xact_lock(hashtext('hub.payout_rules'));
  IF (SELECT paused FROM hub.outgoing_state) THEN
    RAISE EXCEPTION 'outgoing payments are paused' USING ERRCODE = 'AH010';
  END IF;
  IF NEW.state <> 'started' THEN
    RAISE EXCEPTION 'a payout begins at its beginning' USING ERRCODE = 'check_violation';
  END IF;
  IF (NEW.rules).provider_cap IS NULL OR (NEW.rules).platform_cap IS NULL OR (NEW.rules).alone IS NULL
      OR (NEW.rules).first_hours IS NULL OR (NEW.rules).credit_hours IS NULL THEN
    RAISE EXCEPTION 'a payout starts under rules' USING ERRCODE = 'check_violation';
  END IF;
  SELECT w.rule INTO refusal FROM hub.payout_wait(NEW.provider, NEW.payee, NEW.amount, NEW.rules) w;
  IF refusal IS NOT NULL THEN
    RAISE EXCEPTION '%', refusal USING ERRCODE = 'AH013';
  END IF;
  NEW.started_at := clock_timestamp(); -- its day counts it
  NEW.tried_at := NEW.started_at; -- not tried yet
  NEW.approval := CASE
    WHEN NEW.amount + hub.paid_to_person(NEW.provider, NEW.payee) > (NEW.rules).alone
    THEN (SELECT u.id FROM hub.usable_approval(NEW.provider, NEW.payee) u) END;
  RETURN NEW;
END $$;

-- ── Versions ────────────────────────────────────────────────────────────────────────────────

-- As in 0042_content_versions.sql. The number of the last version stays: a later service of the same slug
-- counts on, so that no other content has the number that an administrator has reviewed.
CREATE OR REPLACE FUNCTION hub.discard_upstream(p_slug text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  last integer := (SELECT max(version) FROM content_version WHERE subject = p_slug);
BEGIN
  PERFORM FROM upstream WHERE slug = p_slug AND state = 'retired' AND activated_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  DELETE FROM content_version WHERE subject = p_slug;
  INSERT INTO content_version (subject, version, state, decided_at)
    SELECT p_slug, last, 'withdrawn', now() WHERE last IS NOT NULL;
  DELETE FROM upstream_price WHERE service = p_slug;
  DELETE FROM upstream_endpoint WHERE service = p_slug;
  DELETE FROM upstream_secret WHERE service = p_slug;
  DELETE FROM upstream_health WHERE service = p_slug;
  DELETE FROM upstream WHERE slug = p_slug;
  DELETE FROM service WHERE slug = p_slug;
  RETURN true;
EXCEPTION WHEN foreign_key_violation THEN
  RETURN false;
END $$;
