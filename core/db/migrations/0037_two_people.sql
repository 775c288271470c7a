-- Why: one person must not be able to turn an entry into money. The second person is compared with the
-- proposer over all links that ever existed, holds a role that somebody else granted before the act was
-- proposed, and nobody decides about accounts of their own.

-- Processes of the version before log in as the owner. They could not post after these migrations.
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND usename = session_user
      AND application_name LIKE 'agenthub%' AND application_name <> 'agenthub migrate') THEN
    RAISE EXCEPTION 'processes of an older version of the hub use the database'
      USING ERRCODE = 'object_in_use', HINT = 'Stop all of them and start again. Nothing was changed.';
  END IF;
END $$;

-- ── Persons ─────────────────────────────────────────────────────────────────────────────────

-- Every link between a wallet and an account that ever existed.
CREATE TABLE hub.identity_link (
  wallet text NOT NULL REFERENCES hub.principal,
  person text NOT NULL REFERENCES hub.person,
  linked_at timestamptz NOT NULL DEFAULT clock_timestamp(), -- for the first time
  PRIMARY KEY (wallet, person)
);
CREATE INDEX identity_link_person ON hub.identity_link (person);
INSERT INTO hub.identity_link (wallet, person, linked_at)
  SELECT wallet, person, linked_at FROM hub.wallet_link;
INSERT INTO hub.identity_link (wallet, person, linked_at) -- removed since, as far as challenges still show
  SELECT p.id, h.principal, min(c.used_at) FROM hub.challenge c
    JOIN hub.principal p ON p.wallet_address = c.wallet_address
    JOIN hub.person h ON h.principal = c.terms ->> 'person'
  WHERE c.purpose = 'link' AND c.used_at IS NOT NULL GROUP BY p.id, h.principal
  ON CONFLICT DO NOTHING;
SELECT ledger.protect('hub.identity_link');
GRANT SELECT ON hub.identity_link TO hub_app;

CREATE FUNCTION hub.remember_link() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  INSERT INTO identity_link (wallet, person) VALUES (NEW.wallet, NEW.person) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER remember AFTER INSERT OR UPDATE ON hub.wallet_link
  FOR EACH ROW EXECUTE FUNCTION hub.remember_link();

-- All principals of the person behind one: everything that was ever linked, directly or through others.
CREATE FUNCTION hub.principals_of_person(p_principal text) RETURNS text[]
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  WITH RECURSIVE known(id) AS (
    SELECT p_principal
    UNION
    SELECT CASE WHEN l.wallet = k.id THEN l.person ELSE l.wallet END
    FROM known k JOIN identity_link l ON l.wallet = k.id OR l.person = k.id)
  SELECT array_agg(id ORDER BY id) FROM known $$;

-- The first of these accounts and principals that belongs to the person behind a principal. An account is
-- of its key, of the owner of its provider, or of the holder of the payout address of its provider.
CREATE FUNCTION hub.own_subject(p_principal text, p_accounts text[], p_principals text[] DEFAULT '{}')
RETURNS text LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  WITH me AS MATERIALIZED (SELECT unnest(principals_of_person(p_principal)) AS id),
  touched AS MATERIALIZED (SELECT a AS code, split_part(a, ':', 2) AS family, split_part(a, ':', 3) AS name
    FROM unnest(p_accounts) a WHERE a LIKE 'liabilities:%:%')
  SELECT t.code FROM touched t WHERE t.family IN ('agents', 'allowances')
    AND EXISTS (SELECT FROM api_key k JOIN me ON me.id = k.principal WHERE k.id = t.name)
  UNION ALL
  SELECT t.code FROM touched t JOIN me ON me.id = t.name WHERE t.family = 'free-calls'
  UNION ALL
  SELECT t.code FROM touched t WHERE t.family = 'providers' AND (
    EXISTS (SELECT FROM provider p JOIN me ON me.id = p.owner WHERE p.id = t.name)
    OR EXISTS (SELECT FROM payout_address a LEFT JOIN principal w ON w.wallet_address = a.address
      JOIN me ON me.id IN (w.id, a.set_by) WHERE a.provider = t.name))
  UNION ALL
  SELECT p FROM unnest(p_principals) p JOIN me ON me.id = p
  LIMIT 1 $$;

-- ── Roles ───────────────────────────────────────────────────────────────────────────────────

ALTER TABLE hub.audit DROP CONSTRAINT audit_role_check,
  ADD CONSTRAINT audit_role_check CHECK (role IN ('admin', 'finance', 'auditor', 'operator'));

ALTER TABLE hub.role
  DROP CONSTRAINT role_role_check,
  ADD CONSTRAINT role_role_check CHECK (role IN ('admin', 'finance', 'auditor')),
  ADD COLUMN granter text REFERENCES hub.principal,        -- null: the owner of the database
  ADD COLUMN by_configured boolean NOT NULL DEFAULT true,  -- by one of HUB_ADMIN_WALLETS, or the owner
  ADD COLUMN effective_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN confirmer text REFERENCES hub.principal,      -- a second administrator: effective at once
  ADD COLUMN confirmed_by text CHECK (confirmed_by <> ''),
  ADD COLUMN confirmed_at timestamptz,
  ADD CHECK (num_nulls(confirmer, confirmed_by, confirmed_at) IN (0, 3)),
  ADD CHECK (confirmer <> granter);

ALTER TABLE hub.role DISABLE TRIGGER keep;
UPDATE hub.role r SET effective_at = r.granted_at,
  granter = (SELECT p.id FROM hub.principal p LEFT JOIN hub.person h ON h.principal = p.id
    WHERE p.wallet_address = lower(r.granted_by) OR h.email = lower(r.granted_by) LIMIT 1);
UPDATE hub.role r SET by_configured = NOT EXISTS (SELECT FROM hub.role g
  WHERE g.principal = r.granter AND g.role = 'admin' AND g.granted_at < r.granted_at);
ALTER TABLE hub.role ENABLE TRIGGER keep;

CREATE OR REPLACE FUNCTION hub.keep_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.revoked_at IS NOT NULL OR (NEW.id, NEW.principal, NEW.role, NEW.granted_by, NEW.granted_at,
      NEW.granter, NEW.by_configured) IS DISTINCT FROM (OLD.id, OLD.principal, OLD.role, OLD.granted_by,
      OLD.granted_at, OLD.granter, OLD.by_configured)
    OR ((NEW.confirmer, NEW.confirmed_by, NEW.confirmed_at, NEW.effective_at) IS DISTINCT FROM
      (OLD.confirmer, OLD.confirmed_by, OLD.confirmed_at, OLD.effective_at)
      AND (OLD.confirmed_at IS NOT NULL OR NEW.confirmed_at IS NULL OR NEW.effective_at > OLD.effective_at))
  THEN
    RAISE EXCEPTION 'role % stays as it was given', OLD.id USING ERRCODE = 'restrict_violation',
      HINT = 'It is confirmed once and taken away once; a new one is a new row.';
  END IF;
  RETURN NEW;
END $$;

-- Principals for which a signed-in principal acts now: itself and the wallets that are linked to it.
CREATE FUNCTION hub.acting_principals(p_principal text) RETURNS text[]
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT array_agg(id) FROM (SELECT p_principal UNION ALL
    SELECT wallet FROM wallet_link WHERE person = p_principal) a(id) $$;

CREATE FUNCTION hub.is_configured_admin(p_principal text, p_admins text[]) RETURNS boolean
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT EXISTS (SELECT FROM principal WHERE id = ANY (acting_principals(p_principal))
    AND wallet_address = ANY (p_admins)) $$;

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

-- Why somebody is no second person for an act; null if they are. They must be another person, must have held
-- one of the roles when the act was proposed, and the grants that lead from a configured administrator (or
-- the owner of the database) to that role must not all pass through the proposer. Nor has one person, who may
-- be the decider, granted the roles of both: they could be identities of that person.
CREATE FUNCTION hub.second_person_fault(
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

-- Grants a role, and returns its id; null if it is held already. A role that may only read takes effect at
-- once, all others after the waiting time.
CREATE FUNCTION hub.grant_role(
  p_principal text, p_role text, p_name text, p_granter text, p_wait interval, p_admins text[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  made bigint;
BEGIN
  PERFORM begin_act();
  INSERT INTO role (principal, role, granted_by, granter, by_configured, granted_at, effective_at)
    VALUES (p_principal, p_role, p_name, p_granter, is_configured_admin(p_granter, p_admins),
      clock_timestamp(), clock_timestamp()
        + CASE WHEN p_role = 'auditor' THEN interval '0' ELSE greatest(p_wait, interval '0') END)
    ON CONFLICT (principal, role) WHERE revoked_at IS NULL DO NOTHING RETURNING id INTO made;
  RETURN made;
END $$;

-- A second administrator ends the waiting time of a role. Returns why not; null if it is confirmed.
CREATE FUNCTION hub.confirm_role(p_id bigint, p_name text, p_confirmer text, p_admins text[]) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  pending role;
  fault text;
BEGIN
  PERFORM begin_act();
  SELECT * INTO pending FROM role WHERE id = p_id AND revoked_at IS NULL;
  IF NOT FOUND THEN RETURN 'not_found'; END IF;
  IF pending.confirmed_at IS NOT NULL THEN RETURN NULL; END IF;
  fault := second_person_fault(p_confirmer, pending.granter, ARRAY[pending.principal],
    pending.granted_at, '{admin}', p_admins);
  IF fault IS NOT NULL THEN RETURN fault; END IF;
  UPDATE role SET confirmer = p_confirmer, confirmed_by = p_name, confirmed_at = clock_timestamp(),
    effective_at = least(effective_at, clock_timestamp()) WHERE id = p_id;
  RETURN NULL;
END $$;

REVOKE INSERT ON hub.role FROM hub_app;
