-- Why: the platform never pays for a call that was free, so no entry says so. Its number, 30, stays unused.
ALTER TABLE ledger.kind DISABLE TRIGGER append_only;
DELETE FROM ledger.kind WHERE event = 'call.sponsored';
UPDATE ledger.kind SET needs = '{author,reason}' WHERE event = 'facilitator.charged';
ALTER TABLE ledger.kind ENABLE TRIGGER append_only;
