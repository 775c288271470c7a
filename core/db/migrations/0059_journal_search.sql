-- Why: the journal is searched by transaction hash and by author without reading all of it. Both are in the
-- metadata of rare entries; the steps of calls (kinds 1 to 4) have none and are left out.
CREATE INDEX journal_transaction ON ledger.journal ((lower(coalesce(meta ->> 'transaction', meta ->> 'tx'))))
  WHERE kind > 4 AND meta ?| '{tx,transaction}';
CREATE INDEX journal_author ON ledger.journal (shard, seq) WHERE kind > 4 AND meta ? 'author';
