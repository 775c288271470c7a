-- Why: people with a privilege. Who has which role, and what everybody did with theirs; what the operator may
-- stop; what finance decides, and the files that it asks for.

-- ── Roles ───────────────────────────────────────────────────────────────────────────────────

-- A role is given and taken away; both stay to be seen. The wallets of HUB_ADMIN_WALLETS are administrators
-- besides, so that there is a first one.
CREATE TABLE hub.role (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  principal text NOT NULL REFERENCES hub.principal,
  role text NOT NULL CHECK (role IN ('admin', 'finance')),
  granted_by text NOT NULL CHECK (granted_by <> ''),
  granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_by text CHECK (revoked_by <> ''),
  revoked_at timestamptz,
  CHECK (num_nulls(revoked_by, revoked_at) IN (0, 2))
);
CREATE UNIQUE INDEX role_held ON hub.role (principal, role) WHERE revoked_at IS NULL;

CREATE FUNCTION hub.keep_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.revoked_at IS NOT NULL OR (NEW.id, NEW.principal, NEW.role, NEW.granted_by, NEW.granted_at)
      IS DISTINCT FROM (OLD.id, OLD.principal, OLD.role, OLD.granted_by, OLD.granted_at) THEN
    RAISE EXCEPTION 'role % stays as it was given', OLD.id USING ERRCODE = 'restrict_violation',
      HINT = 'It is taken away once; a new one is a new row.';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER keep BEFORE UPDATE ON hub.role FOR EACH ROW EXECUTE FUNCTION hub.keep_role();
CREATE TRIGGER keep_row BEFORE DELETE ON hub.role FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
CREATE TRIGGER keep_table BEFORE TRUNCATE ON hub.role FOR EACH STATEMENT EXECUTE FUNCTION hub.keep_row();
GRANT SELECT, INSERT ON hub.role TO hub_app;
GRANT UPDATE (revoked_by, revoked_at) ON hub.role TO hub_app;

-- ── Audit log ───────────────────────────────────────────────────────────────────────────────

-- Each privileged act, written in the transaction of the act. Every line has the hash of the one before it:
-- who keeps the last hash elsewhere notices when any line was changed, taken away or added.
CREATE TABLE hub.audit (
  seq bigint PRIMARY KEY CHECK (seq > 0),        -- 1, 2, 3 … without gaps
  at timestamptz NOT NULL,
  name text NOT NULL CHECK (name <> ''),         -- who: a wallet, an address of mail; or whom the shell names
  principal text REFERENCES hub.principal,       -- null: the command line
  via text,                                      -- the key or the session
  role text NOT NULL CHECK (role IN ('admin', 'finance', 'operator')),
  act text NOT NULL CHECK (act ~ '^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$'),
  subject text NOT NULL CHECK (subject <> ''),   -- what it was done to
  before jsonb,
  after jsonb,
  reason text NOT NULL CHECK (length(trim(reason)) BETWEEN 1 AND 500),
  request text,
  network text,                                  -- an IPv4 /24 or an IPv6 /64
  prev bytea NOT NULL CHECK (length(prev) = 32),
  hash bytea NOT NULL CHECK (length(hash) = 32)
);
CREATE INDEX audit_act ON hub.audit (act, seq);
CREATE INDEX audit_subject ON hub.audit (subject, seq);
CREATE INDEX audit_name ON hub.audit (name, seq);
SELECT ledger.protect('hub.audit');

-- The hash of a line: sha256 over the hash before it and the JSON array of its columns, as PostgreSQL writes
-- jsonb, with the time in microseconds of 1970.
CREATE FUNCTION hub.audit_hash(l hub.audit) RETURNS bytea LANGUAGE sql STABLE RETURN
  sha256(l.prev || convert_to(jsonb_build_array(l.seq, (extract(epoch FROM l.at) * 1000000)::bigint, l.name,
    l.principal, l.via, l.role, l.act, l.subject, l.before, l.after, l.reason, l.request, l.network)::text,
    'UTF8'));

-- Privileged acts are rare: they come one after the other, and whoever begins one holds this lock.
CREATE FUNCTION hub.begin_act() RETURNS void LANGUAGE sql AS
  $$ SELECT pg_advisory_xact_lock(hashtext('hub.audit')) $$;

-- Adds a line; the only way to do so.
CREATE FUNCTION hub.add_audit(
  p_name text, p_principal text, p_via text, p_role text, p_act text, p_subject text, p_before jsonb,
  p_after jsonb, p_reason text, p_request text, p_network text
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
DECLARE
  line audit;
  last audit;
BEGIN
  PERFORM hub.begin_act();
  SELECT * INTO last FROM audit ORDER BY seq DESC LIMIT 1;
  line := ROW(coalesce(last.seq, 0) + 1, greatest(clock_timestamp(), last.at), p_name, p_principal, p_via,
    p_role, p_act, p_subject, p_before, p_after, p_reason, p_request, p_network,
    coalesce(last.hash, decode(repeat('00', 32), 'hex')), NULL)::audit;
  line.hash := audit_hash(line);
  INSERT INTO audit SELECT line.*;
  RETURN line.seq;
END $$;

-- The first line that is not what it was when it was written, or that does not follow the one before it.
CREATE FUNCTION hub.audit_fault() RETURNS bigint LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT l.seq FROM (SELECT a.*, lag(a.hash, 1, decode(repeat('00', 32), 'hex')) OVER w AS before_it,
      row_number() OVER w AS place FROM audit a WINDOW w AS (ORDER BY a.seq)) l
  JOIN audit a ON a.seq = l.seq
  WHERE l.seq <> l.place OR l.prev <> l.before_it OR l.hash <> audit_hash(a) ORDER BY l.seq LIMIT 1 $$;

REVOKE EXECUTE ON FUNCTION hub.add_audit FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hub.add_audit TO hub_app;
GRANT SELECT ON hub.audit TO hub_app;

-- ── Suspension ──────────────────────────────────────────────────────────────────────────────

-- What the operator stops is neither sold nor listed, whoever declares it; what is earned stays. A service
-- is stopped by itself or with all of its provider.
ALTER TABLE hub.provider
  ADD COLUMN suspended_at timestamptz,
  ADD COLUMN suspended_reason text CHECK (length(suspended_reason) BETWEEN 1 AND 500),
  ADD CHECK (num_nulls(suspended_at, suspended_reason) IN (0, 2));
ALTER TABLE hub.service
  ADD COLUMN suspended_at timestamptz,
  ADD COLUMN suspended_reason text CHECK (length(suspended_reason) BETWEEN 1 AND 500),
  ADD COLUMN held_back boolean NOT NULL DEFAULT false, -- it would be active, were it not suspended
  ADD CHECK (num_nulls(suspended_at, suspended_reason) IN (0, 2));
CREATE INDEX service_suspended ON hub.service (slug) WHERE suspended_at IS NOT NULL;
CREATE INDEX provider_suspended ON hub.provider (id) WHERE suspended_at IS NOT NULL;
CREATE INDEX service_provider ON hub.service (provider, slug);

CREATE FUNCTION hub.hold_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.suspended_at IS NOT NULL OR EXISTS (SELECT FROM hub.provider p
      WHERE p.id = NEW.provider AND p.suspended_at IS NOT NULL) THEN
    IF NEW.state = 'active' THEN
      NEW.state := 'unlisted';
      NEW.held_back := true;
    END IF;
  ELSIF NEW.held_back THEN
    IF NEW.state = 'unlisted' THEN NEW.state := 'active'; END IF;
    NEW.held_back := false;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER hold_back BEFORE INSERT OR UPDATE ON hub.service
  FOR EACH ROW EXECUTE FUNCTION hub.hold_back();

-- ── Adjustments that two decide ─────────────────────────────────────────────────────────────

-- Above an amount an adjustment is proposed by one person and booked by another one.
CREATE TABLE hub.adjustment (
  id uuid PRIMARY KEY,                           -- of its entry in the journal, too
  debit text NOT NULL,
  credit text NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  shard smallint,
  value_date timestamptz,
  reason text NOT NULL CHECK (length(trim(reason)) BETWEEN 1 AND 500),
  proposed_by text NOT NULL,                     -- their name
  proposer text NOT NULL REFERENCES hub.principal,
  proposed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL DEFAULT 'proposed' CHECK (state IN ('proposed', 'booked', 'declined')),
  decided_by text,
  decider text REFERENCES hub.principal,
  decided_at timestamptz,
  note text CHECK (length(trim(note)) BETWEEN 1 AND 500),
  CHECK ((state = 'proposed') = (decided_at IS NULL)),
  CHECK (num_nulls(decided_by, decider, decided_at, note) IN (0, 4)),
  CHECK (state <> 'booked' OR decider <> proposer) -- who proposed it may withdraw it, and not book it
);
CREATE INDEX adjustment_open ON hub.adjustment (id) WHERE state = 'proposed';
CREATE FUNCTION hub.keep_adjustment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.state <> 'proposed' OR (NEW.id, NEW.debit, NEW.credit, NEW.amount, NEW.shard, NEW.value_date,
      NEW.reason, NEW.proposed_by, NEW.proposer, NEW.proposed_at) IS DISTINCT FROM (OLD.id, OLD.debit,
      OLD.credit, OLD.amount, OLD.shard, OLD.value_date, OLD.reason, OLD.proposed_by, OLD.proposer,
      OLD.proposed_at) THEN
    RAISE EXCEPTION 'adjustment % stays as it was proposed', OLD.id USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER keep BEFORE UPDATE ON hub.adjustment FOR EACH ROW EXECUTE FUNCTION hub.keep_adjustment();
CREATE TRIGGER keep_row BEFORE DELETE ON hub.adjustment FOR EACH ROW EXECUTE FUNCTION hub.keep_row();
CREATE TRIGGER keep_table BEFORE TRUNCATE ON hub.adjustment
  FOR EACH STATEMENT EXECUTE FUNCTION hub.keep_row();
GRANT SELECT, INSERT ON hub.adjustment TO hub_app;
GRANT UPDATE (state, decided_by, decider, decided_at, note) ON hub.adjustment TO hub_app;

-- ── Exports ─────────────────────────────────────────────────────────────────────────────────

-- An export of the journal that a job writes. What it covers is fixed when it is asked for, so that it can go
-- on after a crash, and gives the same bytes whenever it is made again.
CREATE TABLE hub.export (
  id text PRIMARY KEY CHECK (id ~ '^exp_[0-9A-Za-z]{16}$'),
  format text NOT NULL CHECK (format IN ('jsonl', 'csv', 'hledger', 'ledger', 'beancount')),
  title text NOT NULL CHECK (length(title) BETWEEN 1 AND 300), -- what it covers, for people
  plan jsonb NOT NULL,
  opening jsonb,                                 -- balances at its beginning, where they are wanted
  asked_by text NOT NULL,
  asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  total bigint NOT NULL CHECK (total >= 0),      -- entries that are looked at
  entries bigint NOT NULL DEFAULT 0,             -- that are written
  bytes bigint NOT NULL DEFAULT 0,               -- of the text
  position jsonb,                                -- how far it has come, and …
  declared jsonb,                                -- … the accounts that it has named
  state text NOT NULL DEFAULT 'waiting' -- written: all of it, and not hashed yet
    CHECK (state IN ('waiting', 'writing', 'written', 'done', 'failed', 'dropped')),
  sha256 text CHECK (sha256 ~ '^[0-9a-f]{64}$'), -- of the text
  failure text,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK ((state = 'done' OR state = 'dropped') = (sha256 IS NOT NULL)),
  CHECK ((state = 'failed') = (failure IS NOT NULL))
);
CREATE INDEX export_asked ON hub.export (asked_at DESC, id);
CREATE INDEX export_open ON hub.export (asked_at) WHERE state IN ('waiting', 'writing', 'written');

-- Each part is a member of one gzip file (RFC 1952 §2.2): one after the other they are the file.
CREATE TABLE hub.export_part (
  export text NOT NULL REFERENCES hub.export,
  n integer NOT NULL CHECK (n >= 0),
  data bytea NOT NULL,
  PRIMARY KEY (export, n)
);
ALTER TABLE hub.export_part ALTER data SET STORAGE EXTERNAL;
GRANT SELECT, INSERT ON hub.export TO hub_app;
GRANT UPDATE (entries, bytes, position, declared, state, sha256, failure, changed_at) ON hub.export
  TO hub_app;
GRANT SELECT, INSERT, DELETE ON hub.export_part TO hub_app;

-- ── The journal, looked at ──────────────────────────────────────────────────────────────────

-- From an entry to its call, where that has another id: what was paid on the spot.
CREATE INDEX call_entry ON hub.call (entry) WHERE entry <> id;

-- Whose the entries with this id are. The chunks say where they can be; only those are read.
CREATE FUNCTION ledger.owners_of(p_id uuid) RETURNS TABLE (owner bigint, shard smallint, seq bigint)
LANGUAGE sql STABLE SET search_path = ledger, pg_temp SET enable_seqscan = off AS $$
  SELECT j.owner, j.shard, j.seq FROM chunk c
    JOIN journal j ON j.shard = c.shard AND j.seq BETWEEN c.seq_from AND c.seq_to AND j.id = p_id
    WHERE p_id BETWEEN c.id_first AND c.id_last
  UNION ALL
  SELECT j.owner, j.shard, j.seq FROM head h
    JOIN journal j ON j.shard = h.shard AND j.id = p_id AND j.seq > coalesce((SELECT max(c.seq_to)
      FROM chunk c WHERE c.shard = h.shard), 0) $$;
REVOKE EXECUTE ON FUNCTION ledger.owners_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.owners_of TO hub_app;
