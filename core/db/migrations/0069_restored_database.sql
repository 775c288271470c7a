-- Outgoing payments stay off in a restored database until the ledger has been reconciled with the
-- blockchain, because a backup has forgotten the payments that were made after it. A database cannot know
-- that it was restored, but it knows when it cannot have been: while it is the same database of the same
-- run of the server, and the row below is still the version of the row that was written there. A physical
-- backup needs a start of the server, a copy of a database is another database, and a logical backup writes
-- each row anew.
CREATE TABLE hub.outgoing_epoch (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  server_start timestamptz NOT NULL,
  database oid, -- NULL before the first reconciliation
  xact xid8 NOT NULL, -- the transaction that wrote this version of the row
  head bigint NOT NULL, -- newest block when the first run of reconciliation in this epoch began
  confirmed boolean NOT NULL
);
INSERT INTO hub.outgoing_epoch VALUES
  (true, pg_postmaster_start_time(), NULL, pg_current_xact_id(), -1, true);

CREATE FUNCTION hub.is_current_epoch(p_start timestamptz, p_database oid, p_xact xid8, p_version xid)
  RETURNS boolean STABLE LANGUAGE sql
RETURN p_start = pg_postmaster_start_time() AND p_xact::xid = p_version
  AND coalesce(p_database = (SELECT oid FROM pg_database WHERE datname = current_database()), true);

CREATE FUNCTION hub.is_outgoing_confirmed() RETURNS boolean
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = hub, pg_temp
RETURN EXISTS (SELECT FROM hub.outgoing_epoch e WHERE e.confirmed
  AND hub.is_current_epoch(e.server_start, e.database, e.xact, e.xmin));
GRANT EXECUTE ON FUNCTION hub.is_outgoing_confirmed() TO hub_app;

-- Records a complete run of reconciliation for the spend wallet, which began in a run of the server, when
-- p_head was the newest block, and ended with the final block p_block. Payments are confirmed by a run that
-- ends at or after the newest block of the first run: nothing that was sent before the epoch is newer.
CREATE FUNCTION hub.confirm_outgoing(p_start timestamptz, p_head bigint, p_block bigint) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = hub, pg_temp AS $$
BEGIN
  IF p_start <> pg_postmaster_start_time() THEN
    RETURN; -- the chain was read before this epoch
  END IF;
  UPDATE outgoing_epoch e SET server_start = p_start, xact = pg_current_xact_id(), head = p_head,
    database = (SELECT oid FROM pg_database WHERE datname = current_database()),
    confirmed = p_block >= p_head
    WHERE NOT hub.is_current_epoch(e.server_start, e.database, e.xact, e.xmin) OR e.database IS NULL;
  UPDATE outgoing_epoch e SET confirmed = true, xact = pg_current_xact_id()
    WHERE NOT e.confirmed AND p_block >= e.head;
END $$;
GRANT EXECUTE ON FUNCTION hub.confirm_outgoing(timestamptz, bigint, bigint) TO hub_app;

CREATE OR REPLACE VIEW hub.outgoing_state AS
  SELECT coalesce(s.paused, false) OR o.reason IS NOT NULL AS paused,
    CASE WHEN o.reason IS NOT NULL AND s.paused IS NOT TRUE THEN 'reconciliation' ELSE s.author END
      AS author,
    CASE WHEN o.reason IS NOT NULL AND s.paused IS NOT TRUE THEN o.reason ELSE s.reason END AS reason,
    CASE WHEN o.reason IS NOT NULL AND s.paused IS NOT TRUE THEN o.at ELSE s.at END AS at
  FROM (VALUES (1)) one (n)
  LEFT JOIN LATERAL (SELECT * FROM hub.outgoing_switch ORDER BY id DESC LIMIT 1) s ON true
  LEFT JOIN LATERAL (SELECT at, at < clock_timestamp() - interval '10 minutes' AS overdue
    FROM hub.reconciliation WHERE wallet = 'spend' AND chain_balance IS NOT NULL
    ORDER BY id DESC LIMIT 1) r ON true
  LEFT JOIN LATERAL (SELECT
      CASE WHEN NOT c.confirmed THEN 'The database was restarted or restored, and the ledger has not been '
        'reconciled with the blockchain since.'
      WHEN r.overdue THEN 'The ledger has not been reconciled with the blockchain for ten minutes.' END
        AS reason,
      CASE WHEN NOT c.confirmed THEN pg_postmaster_start_time() ELSE r.at END AS at
    FROM (SELECT hub.is_outgoing_confirmed() AS confirmed) c) o ON true;
